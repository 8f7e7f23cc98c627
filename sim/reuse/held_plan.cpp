#include "sim/reuse/held_plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "sim/schedule/schedule_traits.hpp"

namespace lockstep {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace

/// Lets the lanes do their steps, each as soon as its messages have both ends and the steps that it
/// waits for are done, and writes this down in this order.
class HeldPlan::Writer {
 public:
  explicit Writer(const CollectiveCall& call)
      : call_{call},
        schedule_{*call.schedule},
        sizes_{*call.schedule},
        members_{static_cast<std::uint32_t>(schedule_.ranks())},
        words_{(members_ + 63) / 64} {
    out_.lanes = static_cast<std::uint32_t>(schedule_.lanes());
    lanes_.resize(std::size_t{members_} * out_.lanes);
  }

  std::optional<Course> run(std::size_t most) {
    if (schedule_.slots() != 0 || !has_few_steps(most)) return std::nullopt;
    out_.one_each_way = out_.lanes == 1;
    for (std::uint32_t id = 0; id < lanes_.size(); ++id) {
      lanes_[id].begun_before_next.assign(words_, 0);
      add_begun(id / out_.lanes, lanes_[id].begun_before_next);
      ready_.push_back(id);
    }
    std::reverse(ready_.begin(), ready_.end());
    while (!ready_.empty()) {
      const std::uint32_t lane = ready_.back();
      ready_.pop_back();
      if (!begin_steps(lane) || out_.messages > most) return std::nullopt;
    }
    if (!all_end()) return std::nullopt;
    return std::move(out_);
  }

 private:
  struct Lane {
    std::size_t first = 0;  // step, among those of all lanes
    std::int64_t steps = 0;
    std::int64_t step = 0;                           // the next
    int left = 0;                                    // messages of the step that it is in
    bool waits = false;                              // for steps of others, before that one
    std::vector<std::uint64_t> begun_before{};       // members that have begun before its step
    std::vector<std::uint64_t> begun_before_next{};  // before its next step
  };
  struct End {
    std::uint32_t lane = 0;
    Bytes bytes;
  };
  /// The ends of messages of one connection that wait for their other ends.
  struct Connection {
    std::vector<End> waiting{};
    std::vector<std::uint32_t> kinds{};                // of its messages
    bool senders = false;                              // wait, not receivers
    std::array<std::uint32_t, 2> lanes{kNone, kNone};  // that receive, that send
  };
  /// A step of a lane that waits for steps of other lanes of its member.
  struct Waiting {
    std::uint32_t lane = 0;
    std::size_t left = 0;                            // of the steps that it waits for
    std::vector<std::uint64_t> begun_before_next{};  // by these
  };
  using Way = std::tuple<int, int, int>;  // from, to, channel

  [[nodiscard]] int rank_of(std::uint32_t lane) const {
    return static_cast<int>(lane / out_.lanes);
  }
  [[nodiscard]] std::size_t at(std::uint32_t lane, std::int64_t step) const {
    return lanes_[lane].first + static_cast<std::size_t>(step);
  }
  static void add_begun(std::uint32_t member, std::vector<std::uint64_t>& set) {
    set[member / 64] |= std::uint64_t{1} << member % 64;
  }
  static void join(const std::vector<std::uint64_t>& from, std::vector<std::uint64_t>& to) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] |= from[i];
  }

  bool has_few_steps(std::size_t most) {
    std::int64_t steps = 0;
    for (std::uint32_t id = 0; id < lanes_.size(); ++id) {
      lanes_[id].steps = schedule_.steps(rank_of(id), static_cast<int>(id % out_.lanes));
      lanes_[id].first = static_cast<std::size_t>(steps);
      steps += lanes_[id].steps;
      if (steps > static_cast<std::int64_t>(most)) return false;
    }
    if (out_.lanes > 1) find_waiting(static_cast<std::size_t>(steps));
    return true;
  }

  void read(std::uint32_t id, std::int64_t index) {
    step_.clear();
    sizes_.read(rank_of(id), static_cast<int>(id % out_.lanes), index, step_);
  }

  /// Which steps others wait for must be known when they end.
  void find_waiting(std::size_t steps) {
    number_of_.resize(steps);
    waited_for_.resize(steps);
    for (std::uint32_t id = 0; id < lanes_.size(); ++id) {
      for (std::int64_t index = 0; index < lanes_[id].steps; ++index) {
        read(id, index);
        if (step_.after.empty()) continue;
        const auto number = static_cast<std::uint32_t>(waiting_.size());
        waiting_.push_back({id, step_.after.size(), std::vector<std::uint64_t>(words_, 0)});
        number_of_[at(id, index)] = number;
        for (const ScheduleStepRef& ref : step_.after)
          waited_for_[at(id - id % out_.lanes + static_cast<std::uint32_t>(ref.lane), ref.step)]
              .push_back(number);
      }
    }
    out_.waiting = waiting_.size();
  }

  /// Up to the next step that has messages, or that waits; false if steps are of another kind.
  bool begin_steps(std::uint32_t id) {
    Lane& lane = lanes_[id];
    lane.begun_before = lane.begun_before_next;
    while (lane.step < lane.steps) {
      read(id, lane.step);
      if (!step_.after.empty()) {
        if (waiting_.empty()) return false;  // for a step of its own lane
        const std::uint32_t number = number_of_[at(id, lane.step)];
        lane.waits = waiting_[number].left > 0;
        if (lane.waits) return true;
        out_.actions.push_back({number, id, 0, Action::Kind::wait});
        join(waiting_[number].begun_before_next, lane.begun_before_next);
        lane.begun_before = lane.begun_before_next;
      }
      if (!is_plain()) return false;
      lane.left = static_cast<int>(step_.sends.size() + step_.receives.size());
      if (lane.left > 0) return post(id);
      end_step(id);
    }
    return true;
  }

  /// One message at a time on each connection, and nothing else.
  [[nodiscard]] bool is_plain() {
    if (!step_.locals.empty()) return false;
    if (step_.sends.size() > 1 || step_.receives.size() > 1) out_.one_each_way = false;
    return is_once(step_.sends) && is_once(step_.receives) &&
           std::all_of(step_.receives.begin(), step_.receives.end(),
                       [](const Receive& receive) { return receive.times == 1; });
  }
  template <typename SendOrReceive>
  [[nodiscard]] bool is_once(const std::vector<SendOrReceive>& messages) {
    if (messages.size() < 2) return true;
    peers_.clear();
    for (const SendOrReceive& each : messages) peers_.emplace_back(each.peer, each.channel);
    std::sort(peers_.begin(), peers_.end());
    return std::adjacent_find(peers_.begin(), peers_.end()) == peers_.end();
  }

  bool post(std::uint32_t id) {
    const int rank = rank_of(id);
    const std::int64_t block = call_.block.count();
    for (const Receive& receive : step_.receives)
      if (!meet({receive.peer, rank, receive.channel},
                {id, Bytes{step_.blocks_of(receive) * block}}, false))
        return false;
    for (const Send& send : step_.sends)
      if (!meet({rank, send.peer, send.channel}, {id, Bytes{step_.blocks_of(send) * block}}, true))
        return false;
    return true;
  }

  /// False if several lanes send or receive on the connection.
  bool meet(const Way& way, const End& end, bool sends) {
    Connection& of = connections_[way];
    std::uint32_t& lane = of.lanes[sends ? 1 : 0];
    if (lane == kNone) lane = end.lane;
    if (lane != end.lane) return false;
    if (of.waiting.empty() || of.senders == sends) {
      of.waiting.push_back(end);
      of.senders = sends;
      return true;
    }
    const End other = of.waiting.front();
    of.waiting.erase(of.waiting.begin());
    const std::uint32_t from = sends ? end.lane : other.lane;
    const std::uint32_t to = sends ? other.lane : end.lane;
    const auto [source, target, channel] = way;
    join(lanes_[from].begun_before, lanes_[to].begun_before_next);
    join(lanes_[to].begun_before, lanes_[from].begun_before_next);
    const bool from_done = --lanes_[from].left == 0;
    const bool to_done = --lanes_[to].left == 0;
    out_.actions.push_back({from, to, kind_of({source, target, channel, end.bytes}, of),
                            Action::Kind::message, from_done, to_done});
    ++out_.messages;
    if (from_done) end_messages(from);
    if (to_done) end_messages(to);
    return true;
  }

  /// Connections have messages of few sizes.
  std::uint32_t kind_of(const Message& message, Connection& of) {
    for (const std::uint32_t kind : of.kinds)
      if (out_.kinds[kind].bytes == message.bytes) return kind;
    of.kinds.push_back(static_cast<std::uint32_t>(out_.kinds.size()));
    out_.kinds.push_back(message);
    return of.kinds.back();
  }

  void end_messages(std::uint32_t id) {
    end_step(id);
    ready_.push_back(id);
  }

  void end_step(std::uint32_t id) {
    Lane& lane = lanes_[id];
    const std::int64_t ended = lane.step++;
    if (waiting_.empty()) return;
    for (const std::uint32_t number : waited_for_[at(id, ended)]) {
      Waiting& waiting = waiting_[number];
      out_.actions.push_back({id, number, 0, Action::Kind::end});
      join(lane.begun_before_next, waiting.begun_before_next);
      if (--waiting.left == 0 && std::exchange(lanes_[waiting.lane].waits, false))
        ready_.push_back(waiting.lane);
    }
  }

  /// All lanes have done their steps, and each member has then heard of all.
  [[nodiscard]] bool all_end() const {
    for (std::uint32_t member = 0; member < members_; ++member) {
      std::vector<std::uint64_t> begun_before(words_, 0);
      for (std::uint32_t id = member * out_.lanes; id < (member + 1) * out_.lanes; ++id) {
        if (lanes_[id].step < lanes_[id].steps) return false;
        join(lanes_[id].begun_before_next, begun_before);
      }
      for (std::uint32_t other = 0; other < members_; ++other)
        if ((begun_before[other / 64] >> other % 64 & 1) == 0) return false;
    }
    return true;
  }

  const CollectiveCall& call_;
  const Schedule& schedule_;
  StepSizes sizes_;
  std::uint32_t members_;
  std::size_t words_;
  std::vector<Lane> lanes_;  // of member m: from m * lanes on
  std::map<Way, Connection> connections_;
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> number_of_;                // per step of all lanes: of those that wait
  std::vector<std::vector<std::uint32_t>> waited_for_;  // per step: those that wait for it
  std::vector<std::uint32_t> ready_;                    // lanes whose step is done
  std::vector<std::pair<int, int>> peers_;
  ScheduleStep step_;
  Course out_;
};

std::optional<HeldPlan> HeldPlan::of(const CollectiveCall& call, const Takes& takes,
                                     std::size_t most) {
  auto course = Writer{call}.run(most);
  if (!course) return std::nullopt;
  return HeldPlan{std::make_shared<const Course>(*std::move(course)), takes};
}

HeldPlan::HeldPlan(std::shared_ptr<const Course> course, const Takes& takes)
    : course_{std::move(course)} {
  takes_.reserve(course_->kinds.size());
  for (const Message& each : course_->kinds)
    takes_.push_back(takes(each.from, each.to, each.channel, each.bytes));
}

HeldPlan HeldPlan::with(const Takes& takes) const {
  return {course_, takes};
}

std::vector<TimePoint> HeldPlan::ends(const std::vector<TimePoint>& begins) const {
  const std::uint32_t lanes = course_->lanes;
  std::vector<TimePoint> begun;  // per lane, the step that it is in
  begun.reserve(begins.size() * lanes);
  for (const TimePoint begin : begins) begun.insert(begun.end(), lanes, begin);
  std::vector<TimePoint> reached = begun;         // the last end of its messages in this step
  std::vector<TimePoint> done(course_->waiting);  // what each waiting step waits for
  for (const Action& action : course_->actions) {
    if (action.kind == Action::Kind::message) {
      const TimePoint end = std::max(begun[action.from], begun[action.to]) + takes_[action.message];
      reached[action.from] = std::max(reached[action.from], end);
      reached[action.to] = std::max(reached[action.to], end);
      if (action.ends_step_of_sender) begun[action.from] = reached[action.from];
      if (action.ends_step_of_receiver) begun[action.to] = reached[action.to];
    } else if (action.kind == Action::Kind::end) {
      done[action.to] = std::max(done[action.to], begun[action.from]);
    } else {
      begun[action.to] = std::max(begun[action.to], done[action.from]);
      reached[action.to] = begun[action.to];
    }
  }
  std::vector<TimePoint> out;
  out.reserve(begins.size());
  for (std::size_t member = 0; member < begins.size(); ++member) {
    const auto first = begun.begin() + static_cast<std::ptrdiff_t>(member * lanes);
    out.push_back(*std::max_element(first, first + lanes));
  }
  return out;
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
