#include "sim/reuse/held_plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace lockstep {

/// Lets the members do their steps, each as soon as its messages have both ends, and writes the
/// messages down in this order.
class HeldPlan::Writer {
 public:
  Writer(const CollectiveCall& call, const Takes& takes)
      : call_{call},
        schedule_{*call.schedule},
        takes_{takes},
        members_(static_cast<std::size_t>(schedule_.ranks())),
        words_{(members_.size() + 63) / 64} {}

  std::optional<HeldPlan> run(std::size_t most) {
    if (schedule_.slots() != 0 || schedule_.lanes() != 1) return std::nullopt;
    std::int64_t steps = 0;
    for (int member = 0; member < schedule_.ranks(); ++member) steps += schedule_.steps(member, 0);
    if (steps > static_cast<std::int64_t>(most)) return std::nullopt;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      members_[i].hears_of.assign(words_, 0);
      members_[i].hears_of[i / 64] |= std::uint64_t{1} << i % 64;
      begin_step(static_cast<std::uint32_t>(i));
    }
    while (!ready_.empty() && !other_kind_) {
      const std::uint32_t member = ready_.back();
      ready_.pop_back();
      begin_step(member);
    }
    if (other_kind_) return std::nullopt;
    for (const Member& member : members_)
      if (member.left > 0 || !has_heard_of_all(member)) return std::nullopt;
    return std::move(out_);
  }

 private:
  struct Member {
    std::int64_t step = 0;                  // the next
    int left = 0;                           // messages of the step that it is in
    std::vector<std::uint64_t> heard_of{};  // members that have begun before its step
    std::vector<std::uint64_t> hears_of{};  // before its next step
  };
  struct End {
    std::uint32_t member = 0;
    Bytes bytes;
  };
  using Way = std::tuple<int, int, int>;  // from, to, channel

  /// The next step that has messages; the ends of those that have been waited for.
  void begin_step(std::uint32_t id) {
    Member& member = members_[id];
    const int rank = static_cast<int>(id);
    member.heard_of = member.hears_of;
    while (member.step < schedule_.steps(rank, 0)) {
      step_.clear();
      schedule_.step(rank, 0, member.step++, step_);
      if (step_.sends.size() > 1 || step_.receives.size() > 1 || !step_.locals.empty() ||
          !step_.after.empty() || (!step_.receives.empty() && step_.receives.front().times != 1)) {
        other_kind_ = true;
        return;
      }
      member.left = static_cast<int>(step_.sends.size() + step_.receives.size());
      if (member.left == 0) continue;
      const std::int64_t block = call_.block.count();
      for (const Receive& receive : step_.receives)
        meet({receive.peer, rank, receive.channel}, {id, Bytes{step_.blocks_of(receive) * block}},
             false);
      for (const Send& send : step_.sends)
        meet({rank, send.peer, send.channel}, {id, Bytes{step_.blocks_of(send) * block}}, true);
      return;
    }
  }

  void meet(const Way& way, const End& end, bool sends) {
    std::vector<End>& others = sends ? receivers_[way] : senders_[way];
    if (others.empty()) {
      (sends ? senders_[way] : receivers_[way]).push_back(end);
      return;
    }
    const End other = others.front();
    others.erase(others.begin());
    const std::uint32_t from = sends ? end.member : other.member;
    const std::uint32_t to = sends ? other.member : end.member;
    const auto [source, target, channel] = way;
    for (std::size_t i = 0; i < words_; ++i) {
      const std::uint64_t both = members_[from].heard_of[i] | members_[to].heard_of[i];
      members_[from].hears_of[i] |= both;
      members_[to].hears_of[i] |= both;
    }
    const bool from_done = --members_[from].left == 0;
    const bool to_done = --members_[to].left == 0;
    out_.messages_.push_back(
        {takes_(source, target, channel, end.bytes), from, to, from_done, to_done});
    if (from_done) ready_.push_back(from);
    if (to_done) ready_.push_back(to);
  }

  [[nodiscard]] bool has_heard_of_all(const Member& member) const {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if ((member.heard_of[i / 64] >> i % 64 & 1) == 0) return false;
    return true;
  }

  const CollectiveCall& call_;
  const Schedule& schedule_;
  const Takes& takes_;
  std::vector<Member> members_;
  std::size_t words_;
  std::map<Way, std::vector<End>> senders_;  // that wait
  std::map<Way, std::vector<End>> receivers_;
  std::vector<std::uint32_t> ready_;  // whose step is done
  ScheduleStep step_;
  HeldPlan out_;
  bool other_kind_ = false;
};

std::optional<HeldPlan> HeldPlan::of(const CollectiveCall& call, const Takes& takes,
                                     std::size_t most) {
  return Writer{call, takes}.run(most);
}

std::vector<TimePoint> HeldPlan::ends(const std::vector<TimePoint>& begins) const {
  std::vector<TimePoint> begun = begins;    // the step that a member is in
  std::vector<TimePoint> reached = begins;  // the last end of its messages in this step
  for (const Message& message : messages_) {
    const TimePoint done = std::max(begun[message.from], begun[message.to]) + message.takes;
    reached[message.from] = std::max(reached[message.from], done);
    reached[message.to] = std::max(reached[message.to], done);
    if (message.ends_step_of_sender) begun[message.from] = reached[message.from];
    if (message.ends_step_of_receiver) begun[message.to] = reached[message.to];
  }
  return begun;
}

Duration time_alone(const Network& network, const Route& route, Bytes bytes) {
  if (bytes == Bytes{} || route.hops.empty()) return route.latency;
  std::uint64_t rate = UINT64_MAX;
  for (const Hop& hop : route.hops)
    rate = std::min(rate, static_cast<std::uint64_t>(
                              static_cast<UInt128>(network.links[hop.link].bandwidth.steps()) *
                              kWeightUnit / hop.weight));
  return route.latency + time_for(work_of(bytes), rate);
}

}  // namespace lockstep
