#include "sim/symmetry/ranks/rank_recursion.hpp"

#include <algorithm>
#include <numeric>

#include "sim/schedule/schedule_traits.hpp"
#include "sim/symmetry/quotient/repeated_round.hpp"
#include "sim/symmetry/ranks/peer_pairs.hpp"

namespace lockstep::fold {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// A transfer of the members of block 0; one per copy.
struct Transfer {
  std::uint32_t from = 0;  // lanes of members
  std::uint32_t to = 0;
  std::uint32_t pair = 0;
  std::int64_t bytes = 0;
  bool reduces = false;
};

/// What a step does after its transfers.
struct LocalWork {
  std::int64_t reduced = 0;  // bytes
  std::int64_t copied = 0;
};

/// Reads rounds of the members of block 0 and advances the lanes of all ranks through them.
class Recursion {
 public:
  Recursion(const Relations& relations, const ReceivedPairs& received, const RankCosts& costs,
            const Network& network, const Workload& workload)
      : relations_{relations},
        costs_{costs},
        network_{network},
        call_{workload.calls.front()},
        schedule_{*call_.schedule},
        sizes_{schedule_},
        members_{static_cast<std::uint32_t>(relations.members.size())},
        lanes_{static_cast<std::uint32_t>(schedule_.lanes())},
        copies_{relations.copies()},
        to_{members_, relations.pairs.size()},
        from_{members_, relations.pairs.size()},
        sender_on_(relations.pairs.size() * static_cast<std::size_t>(relations.channels), kNone) {
    list_peers(received);
    list_lanes();
    look_at_endpoints();
  }

  std::optional<RankRecursionResult> run(bool step_ends) {
    begin_lanes();
    if (step_ends) log_.emplace(reached_.size());
    const auto advance_or_skip = [this](std::int64_t round, std::int64_t times) {
      if (times > 1) {
        skip(round, times);
      } else {
        advance();
      }
      if (log_) log(round, times);
    };
    if (!each_round(advance_or_skip)) return std::nullopt;
    collect();
    return std::move(out_);
  }

  bool may_run() {
    return each_round([](std::int64_t, std::int64_t) {});
  }

 private:
  /// More steps than this one by one are the engine's.
  static constexpr std::size_t kMostSteps = 50'000'000;

  void list_peers(const ReceivedPairs& received) {
    for (std::uint32_t m = 0; m < members_; ++m) {
      for (std::uint32_t p = relations_.first_pair[m]; p < relations_.first_pair[m + 1]; ++p)
        to_.add(relations_.receiver_rank(relations_.pairs[p]), p);
      to_.end_member();
      for (const std::uint32_t p : received.of(m))
        from_.add(relations_.sender_rank(relations_.pairs[p]), p);
      from_.end_member();
    }
  }

  void list_lanes() {
    const std::size_t lanes = std::size_t{members_} * lanes_;
    steps_.resize(lanes);
    first_.resize(lanes);
    local_.resize(lanes);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const int rank = relations_.members[lane / lanes_].rank;
      steps_[lane] = schedule_.steps(rank, static_cast<int>(lane % lanes_));
      first_[lane] = first_step(schedule_, rank, static_cast<int>(lane % lanes_));
      rounds_ = std::max(rounds_, steps_[lane]);
    }
    to_begin_.resize(lanes);
    std::iota(to_begin_.begin(), to_begin_.end(), 0U);
    std::stable_sort(to_begin_.begin(), to_begin_.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return first_[a] < first_[b]; });
  }

  /// Which costs any copy of a member has.
  void look_at_endpoints() {
    has_overhead_.assign(members_, false);
    reduces_.assign(members_, false);
    copies_data_.assign(members_, false);
    for (std::uint32_t m = 0; m < members_; ++m) {
      for (std::uint32_t copy = 0; copy < copies_; ++copy) {
        const Endpoint& endpoint = endpoint_of(m, copy);
        alike_ = alike_ && are_equivalent(endpoint, endpoint_of(m, 0));
        has_overhead_[m] = has_overhead_[m] || endpoint.message_overhead > Duration{};
        reduces_[m] = reduces_[m] || endpoint.reduce_rate.has_value();
        copies_data_[m] = copies_data_[m] || endpoint.copy_rate.has_value();
      }
    }
  }

  [[nodiscard]] std::size_t rank_of(std::uint32_t member, std::uint32_t copy) const {
    return static_cast<std::size_t>(relations_.members[member].rank) +
           (relations_.moves ? std::size_t{copy} * static_cast<std::size_t>(relations_.moves->block)
                             : 0);
  }
  [[nodiscard]] const Endpoint& endpoint_of(std::uint32_t member, std::uint32_t copy) const {
    return network_.endpoints[call_.members[rank_of(member, copy)]];
  }

  void begin_lanes() {
    reached_.assign(steps_.size() * copies_, 0);
    ready_.resize(reached_.size());
    if (call_.starts.empty()) return;
    for (std::uint32_t lane = 0; lane < steps_.size(); ++lane)
      for (std::uint32_t copy = 0; copy < copies_; ++copy)
        reached_[at(lane, copy)] = call_.starts[rank_of(lane / lanes_, copy)].ps();
  }

  [[nodiscard]] std::size_t at(std::uint32_t lane, std::uint32_t copy) const {
    return std::size_t{lane} * copies_ + copy;
  }

  /// Calls go(round, times) for every round that was read, false where this is not for the
  /// recursion.
  template <typename Go>
  bool each_round(const Go& go) {
    const std::vector<Phase> phases = schedule_.phases();
    auto phase = phases.begin();
    for (std::int64_t round = 0; round < rounds_;) {
      while (phase != phases.end() && phase->first + phase->count <= round) ++phase;
      if (!read(round)) return false;
      std::int64_t times = 1;
      if (phase != phases.end() && phase->first <= round && repeats_)
        times = std::min(phase->first + phase->count, shortest_) - round;
      go(round, times);
      round += times;
      out_.rounds += times;
    }
    return true;
  }

  /// Lanes that have something to do in the round.
  void find_active(std::int64_t round) {
    std::erase_if(active_, [&](std::uint32_t lane) { return steps_[lane] <= round; });
    for (; begun_ < to_begin_.size() && first_[to_begin_[begun_]] <= round; ++begun_)
      if (round < steps_[to_begin_[begun_]]) active_.push_back(to_begin_[begun_]);
  }

  bool read(std::int64_t round) {
    transfers_.clear();
    incoming_.clear();
    sent_.clear();
    waits_.clear();
    find_active(round);
    for (const std::uint32_t lane : active_) local_[lane] = {};
    incoming_.reserve(active_.size());
    sent_.reserve(active_.size());
    repeats_ = true;
    shortest_ = INT64_MAX;
    bool fine = true;
    for (std::size_t i = 0; i < active_.size() && fine; ++i) {
      if (++read_ > kMostSteps) return false;
      fine = read_step(active_[i], round);
    }
    fine = fine && match() && transfers_.size() == sent_.size();
    for (const std::uint32_t channel : sent_) sender_on_[channel] = kNone;
    return fine;
  }

  bool read_step(std::uint32_t lane, std::int64_t round) {
    step_.clear();
    const std::uint32_t member = lane / lanes_;
    sizes_.read(relations_.members[member].rank, static_cast<int>(lane % lanes_), round, step_);
    if (!step_.after.empty() && !wait(lane, round)) return false;
    const bool works = add_local(lane);
    shortest_ = std::min(shortest_, steps_[lane]);
    if (step_.sends.size() > 1 || step_.receives.size() > 1) repeats_ = false;
    // Messages that software lets go one by one, or several pieces of work, could delay one
    // another.
    if (has_overhead_[member] && (lanes_ > 1 || step_.sends.size() > 1)) return false;
    std::size_t reducing = 0;
    for (const Receive& receive : step_.receives) {
      const bool reduces = receive.combine == Combine::reduce && reduces_[member];
      if (reduces) ++reducing;
      const std::uint32_t pair = from_.find(member, receive.peer);
      if (pair == kNone) return false;
      incoming_.push_back({channel(pair, receive.channel), lane, pair,
                           step_.blocks_of(receive) * call_.block.count(), reduces});
    }
    if (reducing > 1 || (lanes_ > 1 && (reducing > 0 || works))) return false;
    for (const Send& send : step_.sends) {
      const std::uint32_t pair = to_.find(member, send.peer);
      if (pair == kNone) return false;
      const std::uint32_t on = channel(pair, send.channel);
      if (sender_on_[on] != kNone) return false;
      sender_on_[on] = lane;
      sent_.push_back(on);
    }
    return true;
  }

  [[nodiscard]] std::uint32_t channel(std::uint32_t pair, int given) const {
    return pair * static_cast<std::uint32_t>(relations_.channels) +
           static_cast<std::uint32_t>(given);
  }

  /// A step may wait for what another lane has done by then.
  bool wait(std::uint32_t lane, std::int64_t round) {
    repeats_ = false;
    for (const ScheduleStepRef& ref : step_.after) {
      const std::uint32_t other = lane - lane % lanes_ + static_cast<std::uint32_t>(ref.lane);
      const std::int64_t last = std::min(round, steps_[other]) - 1;
      if (ref.step != last) return false;
      waits_.emplace_back(lane, other);
    }
    return true;
  }

  /// Whether it takes time.
  bool add_local(std::uint32_t lane) {
    if (step_.locals.empty()) return false;
    repeats_ = false;
    LocalWork& work = local_[lane];
    for (const LocalOperation& local : step_.locals)
      (local.combine == Combine::reduce ? work.reduced : work.copied) +=
          local.to.count * call_.block.count();
    const std::uint32_t member = lane / lanes_;
    return (reduces_[member] && work.reduced > 0) || (copies_data_[member] && work.copied > 0);
  }

  bool match() {
    transfers_.reserve(incoming_.size());
    for (const Incoming& each : incoming_) {
      const std::uint32_t from = sender_on_[each.channel];
      if (from == kNone) return false;
      transfers_.push_back({from, each.lane, each.pair, each.bytes, each.reduces});
    }
    return true;
  }

  void advance() {
    for (const std::uint32_t lane : active_) copy(lane, reached_, ready_);
    for (const auto& [lane, other] : waits_)
      for (std::uint32_t i = 0; i < copies_; ++i)
        ready_[at(lane, i)] = std::max(ready_[at(lane, i)], reached_[at(other, i)]);
    for (const std::uint32_t lane : active_) copy(lane, ready_, reached_);
    for (const Transfer& each : transfers_) advance(each);
    for (const std::uint32_t lane : active_) do_local(lane);
    out_.transfers += transfers_.size() * copies_;
  }

  void copy(std::uint32_t lane, const std::vector<std::int64_t>& from,
            std::vector<std::int64_t>& to) const {
    const auto begin = static_cast<std::ptrdiff_t>(at(lane, 0));
    std::copy_n(from.begin() + begin, copies_, to.begin() + begin);
  }

  void advance(const Transfer& each) {
    const auto block = static_cast<std::uint32_t>(relations_.pairs[each.pair].block);
    const std::int64_t* const ready_from = &ready_[at(each.from, 0)];
    const std::int64_t* const ready_to = &ready_[at(each.to, 0)];
    std::int64_t* const from = &reached_[at(each.from, 0)];
    std::int64_t* const to = &reached_[at(each.to, 0)];
    each_cost(
        each,
        [&](std::uint32_t copy, std::uint32_t other, std::int64_t takes, std::int64_t reduces) {
          const std::int64_t done = std::max(ready_from[copy], ready_to[other]) + takes;
          from[copy] = std::max(from[copy], done);
          to[other] = std::max(to[other], done + reduces);
        },
        block);
  }

  /// Calls take(copy of the sender, of the receiver, time of the transfer, of the reduction) for
  /// all copies, in ps.
  template <typename Take>
  void each_cost(const Transfer& each, const Take& take, std::uint32_t block) const {
    const Duration usual = time_alone(each, costs_.alone(each.pair));
    const auto odd = costs_.odd(each.pair);
    if (alike_ && odd.empty()) {
      const std::int64_t takes = (usual + endpoint_of(each.from / lanes_, 0).message_overhead).ps();
      const std::int64_t reduces = reduction(each, 0).ps();
      for (std::uint32_t copy = 0; copy < copies_; ++copy)
        take(copy, moved_block(relations_.moves, copy, block), takes, reduces);
      return;
    }
    auto next = odd.begin();
    for (std::uint32_t copy = 0; copy < copies_; ++copy) {
      Duration takes = usual;
      if (next != odd.end() && next->copy == copy) takes = time_alone(each, (next++)->alone);
      takes += endpoint_of(each.from / lanes_, copy).message_overhead;
      const std::uint32_t other = moved_block(relations_.moves, copy, block);
      take(copy, other, takes.ps(), reduction(each, other).ps());
    }
  }

  [[nodiscard]] Duration time_alone(const Transfer& each, std::uint64_t rate) const {
    const Duration latency = relations_.pairs[each.pair].latency;
    return rate == 0 ? latency : latency + time_for(work_of(Bytes{each.bytes}), rate);
  }

  [[nodiscard]] Duration reduction(const Transfer& each, std::uint32_t copy) const {
    if (!each.reduces) return {};
    const Endpoint& endpoint = endpoint_of(each.to / lanes_, copy);
    return endpoint.reduce_rate ? Bytes{each.bytes} / *endpoint.reduce_rate : Duration{};
  }

  void do_local(std::uint32_t lane) {
    const LocalWork& work = local_[lane];
    if (work.reduced == 0 && work.copied == 0) return;
    for (std::uint32_t copy = 0; copy < copies_; ++copy) {
      const Endpoint& endpoint = endpoint_of(lane / lanes_, copy);
      Duration takes;
      if (endpoint.reduce_rate)
        takes = std::max(takes, Bytes{work.reduced} / *endpoint.reduce_rate);
      if (endpoint.copy_rate) takes = std::max(takes, Bytes{work.copied} / *endpoint.copy_rate);
      reached_[at(lane, copy)] += takes.ps();
    }
  }

  void skip(std::int64_t first, std::int64_t times) {
    std::vector<RoundTransfer> round;
    round.reserve(transfers_.size() * copies_);
    for (const Transfer& each : transfers_)
      each_cost(
          each,
          [&](std::uint32_t copy, std::uint32_t other, std::int64_t takes, std::int64_t reduces) {
            round.push_back({static_cast<std::uint32_t>(at(each.from, copy)),
                             static_cast<std::uint32_t>(at(each.to, other)), takes, reduces});
          },
          static_cast<std::uint32_t>(relations_.pairs[each.pair].block));
    const RepeatedRounds played =
        repeat_round(round, times, reached_, {log_ ? &*log_ : nullptr, first});
    out_.skipped += played.skipped;
    out_.transfers += played.advanced;
  }

  /// Rounds of lanes that repeat_round() has not logged.
  void log(std::int64_t first, std::int64_t times) {
    for (const std::uint32_t lane : active_)
      for (std::uint32_t copy = 0; copy < copies_; ++copy)
        if (const std::size_t i = at(lane, copy); log_->steps(i) <= first)
          log_->add_run(i, first, times, reached_[i], 0);
  }

  void collect_steps() {
    out_.step_ends.resize(std::size_t{members_} * copies_);
    std::vector<StepEnds> own(lanes_);
    for (std::uint32_t member = 0; member < members_; ++member) {
      for (std::uint32_t copy = 0; copy < copies_; ++copy) {
        for (std::uint32_t lane = 0; lane < lanes_; ++lane)
          own[lane] = log_->lanes(at(member * lanes_ + lane, copy), 1).front();
        out_.step_ends[rank_of(member, copy)] = latest_of(own);
      }
    }
  }

  void collect() {
    if (log_ && log_->complete()) collect_steps();
    out_.ends.resize(std::size_t{members_} * copies_);
    for (std::uint32_t member = 0; member < members_; ++member) {
      for (std::uint32_t copy = 0; copy < copies_; ++copy) {
        std::int64_t end = 0;
        for (std::uint32_t lane = 0; lane < lanes_; ++lane)
          end = std::max(end, reached_[at(member * lanes_ + lane, copy)]);
        out_.ends[rank_of(member, copy)] = TimePoint{Duration::picoseconds(end)};
      }
    }
  }

  struct Incoming {
    std::uint32_t channel = 0;
    std::uint32_t lane = 0;
    std::uint32_t pair = 0;
    std::int64_t bytes = 0;
    bool reduces = false;
  };

  const Relations& relations_;
  const RankCosts& costs_;
  const Network& network_;
  const CollectiveCall& call_;
  const Schedule& schedule_;
  StepSizes sizes_;
  std::uint32_t members_;
  std::uint32_t lanes_;
  std::uint32_t copies_;
  PeerPairs to_;
  PeerPairs from_;
  // Per lane of a member and copy, as at():
  std::vector<std::int64_t> reached_;  // when it reached its present step
  std::vector<std::int64_t> ready_;    // and when what that step waits for was done too
  // Per lane of a member:
  std::vector<LocalWork> local_;
  std::vector<std::int64_t> steps_;
  std::vector<std::int64_t> first_;      // steps before are empty
  std::vector<std::uint32_t> to_begin_;  // lanes by that
  std::size_t begun_ = 0;                // of these
  // Per member, of any copy:
  std::vector<bool> has_overhead_;
  std::vector<bool> reduces_;
  std::vector<bool> copies_data_;
  bool alike_ = true;  // endpoints of all copies of each member
  std::vector<std::uint32_t> active_;
  std::int64_t rounds_ = 0;
  std::int64_t shortest_ = 0;  // steps of the lane with fewest, of those in this round
  bool repeats_ = false;       // the round may be one of a phase
  std::size_t read_ = 0;
  std::vector<std::uint32_t> sender_on_;  // per channel, in this round
  std::vector<std::uint32_t> sent_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits_;  // lanes, and what they wait for
  std::vector<Incoming> incoming_;
  std::vector<Transfer> transfers_;
  ScheduleStep step_;
  std::optional<StepEndsLog> log_;
  RankRecursionResult out_;
};

}  // namespace

std::optional<RankRecursionResult> run_rank_recursion(const Relations& relations,
                                                      const ReceivedPairs& received,
                                                      const RankCosts& costs,
                                                      const Network& network,
                                                      const Workload& workload, bool step_ends) {
  return Recursion{relations, received, costs, network, workload}.run(step_ends);
}

bool may_run_rank_recursion(const Relations& relations, const ReceivedPairs& received,
                            const RankCosts& costs, const Network& network,
                            const Workload& workload) {
  return Recursion{relations, received, costs, network, workload}.may_run();
}

}  // namespace lockstep::fold
