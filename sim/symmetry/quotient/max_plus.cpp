#include "sim/symmetry/quotient/max_plus.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/schedule/schedule_traits.hpp"
#include "sim/symmetry/quotient/repeated_round.hpp"

namespace lockstep::fold {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// For the first link of each class: the one rank that all come from, or go to; else kNone.
struct LinkEnds {
  std::uint32_t sender = kNone;
  std::uint32_t receiver = kNone;
  bool any = false;
};

/// Between whom the pair is that crosses the first block's link. Members of several calls have
/// numbers of their own; where members are those of a block, they are ranks of the one call.
std::pair<std::uint32_t, std::uint32_t> ends_on(const Relations& relations, const Pair& pair,
                                                bool arriving) {
  if (!relations.moves) return {pair.sender, pair.receiver};
  if (arriving) return {static_cast<std::uint32_t>(relations.sender_rank(pair)), pair.receiver};
  return {pair.sender, static_cast<std::uint32_t>(relations.receiver_rank(pair))};
}

std::vector<LinkEnds> ends_at_links(const Relations& relations, const Partition& partition) {
  std::vector<LinkEnds> out(partition.first_link.size());
  for (std::uint32_t p = 0; p < relations.pairs.size(); ++p) {
    const Pair& pair = relations.pairs[p];
    for (const Crossing& each : relations.crossings_of(p)) {
      const std::uint32_t c = partition.link_class[each.link];
      if (c == Partition::kNoClass || partition.first_link[c] != each.link) continue;
      const auto [sender, receiver] = ends_on(relations, pair, each.arriving);
      LinkEnds& ends = out[c];
      if (!ends.any) ends = {sender, receiver, true};
      if (ends.sender != sender) ends.sender = kNone;
      if (ends.receiver != receiver) ends.receiver = kNone;
    }
  }
  return out;
}

/// Reads rounds of a quotient and advances all lanes through them.
class Recursion {
 public:
  Recursion(const Quotient& quotient, bool step_ends)
      : quotient_{quotient},
        call_{quotient.workload.calls.front()},
        schedule_{*call_.schedule},
        lanes_{static_cast<std::uint32_t>(schedule_.lanes())},
        sender_on_(quotient.class_routes.size() * quotient.channels, kNone) {
    const auto ranks = static_cast<std::uint32_t>(schedule_.ranks());
    reached_.resize(std::size_t{ranks} * lanes_);
    if (step_ends) log_.emplace(reached_.size());
    ready_.resize(reached_.size());
    local_.resize(reached_.size());
    steps_.resize(reached_.size());
    first_.resize(reached_.size());
    for (std::uint32_t lane = 0; lane < reached_.size(); ++lane) {
      const std::uint32_t rank = lane / lanes_;
      reached_[lane] = call_.starts.empty() ? 0 : call_.starts[rank].ps();
      steps_[lane] = schedule_.steps(static_cast<int>(rank), static_cast<int>(lane % lanes_));
      first_[lane] = first_step(schedule_, static_cast<int>(rank), static_cast<int>(lane % lanes_));
      rounds_ = std::max(rounds_, steps_[lane]);
    }
    to_begin_.resize(reached_.size());
    std::iota(to_begin_.begin(), to_begin_.end(), 0U);
    std::stable_sort(to_begin_.begin(), to_begin_.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return first_[a] < first_[b]; });
  }

  std::optional<MaxPlusResult> run() {
    const std::vector<Phase> phases = schedule_.phases();
    auto phase = phases.begin();
    for (std::int64_t round = 0; round < rounds_;) {
      while (phase != phases.end() && phase->first + phase->count <= round) ++phase;
      if (!read(round)) return std::nullopt;
      std::int64_t times = 1;
      if (phase != phases.end() && phase->first <= round && repeats_)
        times = std::min(phase->first + phase->count, shortest_) - round;
      if (times > 1) {
        skip(round, times);
      } else {
        advance();
      }
      log(round, times);
      round += times;
      out_.rounds += times;
    }
    collect();
    return std::move(out_);
  }

 private:
  /// More steps than this one by one are the engine's.
  static constexpr std::size_t kMostSteps = 50'000'000;

  struct Incoming {
    std::uint32_t lane = 0;
    std::uint32_t channel = 0;
    std::int64_t bytes = 0;
    std::int64_t reduced = 0;
  };

  /// Lanes that have something to do in the round.
  void find_active(std::int64_t round) {
    std::erase_if(active_, [&](std::uint32_t lane) { return steps_[lane] <= round; });
    for (; begun_ < to_begin_.size() && first_[to_begin_[begun_]] <= round; ++begun_)
      if (round < steps_[to_begin_[begun_]]) active_.push_back(to_begin_[begun_]);
  }

  /// False where this is not for the recursion.
  bool read(std::int64_t round) {
    transfers_.clear();
    incoming_.clear();
    sent_.clear();
    find_active(round);
    for (const std::uint32_t lane : active_) {
      ready_[lane] = reached_[lane];
      local_[lane] = 0;
    }
    repeats_ = true;
    shortest_ = INT64_MAX;
    std::size_t sends = 0;
    bool fine = true;
    for (std::size_t i = 0; i < active_.size() && fine; ++i) {
      if (++read_ > kMostSteps) return false;
      fine = read_step(active_[i], round);
      sends += step_.sends.size();
    }
    fine = fine && match() && transfers_.size() == sends;
    for (const std::uint32_t channel : sent_) sender_on_[channel] = kNone;
    return fine;
  }

  bool read_step(std::uint32_t lane, std::int64_t round) {
    step_.clear();
    const std::uint32_t rank = lane / lanes_;
    schedule_.step(static_cast<int>(rank), static_cast<int>(lane % lanes_), round, step_);
    const Endpoint& endpoint = quotient_.network.endpoints[call_.members[rank]];
    if (!step_.after.empty() && !wait(lane, round)) return false;
    add_local(lane, endpoint);
    shortest_ = std::min(shortest_, steps_[lane]);
    if (step_.sends.size() > 1 || step_.receives.size() > 1) repeats_ = false;
    // Messages that software lets go one by one, or several pieces of work, could delay one
    // another.
    if (endpoint.message_overhead > Duration{} && (lanes_ > 1 || step_.sends.size() > 1))
      return false;
    std::size_t reducing = 0;
    for (const Receive& receive : step_.receives) {
      const bool reduces = receive.combine == Combine::reduce && endpoint.reduce_rate;
      if (reduces) ++reducing;
      incoming_.push_back({lane, static_cast<std::uint32_t>(receive.channel), receive.chunk.count,
                           reduces ? receive.chunk.count * receive.times : -1});
    }
    if (reducing > 1 || (lanes_ > 1 && (reducing > 0 || local_[lane] > 0))) return false;
    for (const Send& send : step_.sends) {
      const auto channel = static_cast<std::uint32_t>(send.channel);
      if (sender_on_[channel] != kNone) return false;
      sender_on_[channel] = lane;
      sent_.push_back(channel);
    }
    return true;
  }

  /// A step may wait for what another lane has done by then.
  bool wait(std::uint32_t lane, std::int64_t round) {
    repeats_ = false;
    for (const ScheduleStepRef& ref : step_.after) {
      const std::uint32_t other = lane - lane % lanes_ + static_cast<std::uint32_t>(ref.lane);
      const std::int64_t last = std::min(round, steps_[other]) - 1;
      if (ref.step != last) return false;
      ready_[lane] = std::max(ready_[lane], reached_[other]);
    }
    return true;
  }

  void add_local(std::uint32_t lane, const Endpoint& endpoint) {
    Bytes reduced;
    Bytes copied;
    for (const LocalOperation& local : step_.locals)
      (local.combine == Combine::reduce ? reduced : copied) += Bytes{local.to.count};
    if (!step_.locals.empty()) repeats_ = false;
    Duration takes;
    if (endpoint.reduce_rate) takes = std::max(takes, reduced / *endpoint.reduce_rate);
    if (endpoint.copy_rate) takes = std::max(takes, copied / *endpoint.copy_rate);
    local_[lane] = takes.ps();
  }

  bool match() {
    for (const Incoming& each : incoming_) {
      const std::uint32_t from = sender_on_[each.channel];
      if (from == kNone) return false;
      const Endpoint& sender = quotient_.network.endpoints[call_.members[from / lanes_]];
      const Endpoint& receiver = quotient_.network.endpoints[call_.members[each.lane / lanes_]];
      const ClassRoute& way = quotient_.class_routes[each.channel / quotient_.channels];
      const Duration takes = sender.message_overhead + way.time_alone(Bytes{each.bytes});
      Duration reduces;
      if (each.reduced >= 0) reduces = Bytes{each.reduced} / *receiver.reduce_rate;
      transfers_.push_back({from, each.lane, takes.ps(), reduces.ps()});
    }
    return true;
  }

  void advance() {
    for (const std::uint32_t lane : active_) reached_[lane] = ready_[lane];
    for (const RoundTransfer& each : transfers_) {
      const std::int64_t done = std::max(ready_[each.from], ready_[each.to]) + each.takes_ps;
      reached_[each.from] = std::max(reached_[each.from], done);
      reached_[each.to] = std::max(reached_[each.to], done + each.reduces_ps);
    }
    for (const std::uint32_t lane : active_) reached_[lane] += local_[lane];
    out_.transfers += transfers_.size();
  }

  void skip(std::int64_t first, std::int64_t times) {
    const RepeatedRounds played =
        repeat_round(transfers_, times, reached_, {log_ ? &*log_ : nullptr, first});
    out_.skipped += played.skipped;
    out_.transfers += played.advanced;
  }

  /// Rounds of lanes that repeat_round() has not logged.
  void log(std::int64_t first, std::int64_t times) {
    if (!log_) return;
    for (const std::uint32_t lane : active_)
      if (log_->steps(lane) <= first) log_->add_run(lane, first, times, reached_[lane], 0);
  }

  void collect() {
    if (log_ && log_->complete())
      for (std::size_t rank = 0; rank * lanes_ < reached_.size(); ++rank)
        out_.step_ends.push_back(latest_of(log_->lanes(rank * lanes_, lanes_)));
    for (std::size_t rank = 0; rank * lanes_ < reached_.size(); ++rank) {
      const auto first = reached_.begin() + static_cast<std::ptrdiff_t>(rank * lanes_);
      out_.ends.emplace_back(Duration::picoseconds(*std::max_element(first, first + lanes_)));
    }
  }

  const Quotient& quotient_;
  const CollectiveCall& call_;
  const Schedule& schedule_;
  std::uint32_t lanes_;
  std::vector<std::int64_t> reached_;  // per lane, when it reached its present step
  std::vector<std::int64_t> ready_;    // and when what that step waits for was done too
  std::vector<std::int64_t> local_;
  std::vector<std::int64_t> steps_;
  std::vector<std::int64_t> first_;      // steps before are empty
  std::vector<std::uint32_t> to_begin_;  // lanes by that
  std::size_t begun_ = 0;                // of these
  std::vector<std::uint32_t> active_;
  std::int64_t rounds_ = 0;
  std::int64_t shortest_ = 0;  // steps of the lane with fewest, of those in this round
  bool repeats_ = false;       // the round may be one of a phase
  std::size_t read_ = 0;
  std::vector<std::uint32_t> sender_on_;  // per channel, in this round
  std::vector<std::uint32_t> sent_;
  std::vector<Incoming> incoming_;
  std::vector<RoundTransfer> transfers_;
  ScheduleStep step_;
  std::optional<StepEndsLog> log_;
  MaxPlusResult out_;
};

}  // namespace

bool nobody_limits(const Relations& relations, const Partition& partition, const Network& network,
                   const Quotient& quotient) {
  const std::vector<LinkEnds> ends = ends_at_links(relations, partition);
  const auto one_at_a_time = [&](std::uint32_t member) {
    return member != kNone && relations.members[relations.member_of(member)].single;
  };
  std::vector<UInt128> wanted(partition.first_link.size(), 0);
  for (std::size_t c = 0; c < quotient.class_routes.size(); ++c) {
    const ClassRoute& way = quotient.class_routes[c];
    const std::uint64_t parallel = relations.pairs[partition.first_pair[c]].parallel;
    if (way.own != UINT64_MAX && static_cast<UInt128>(way.alone) * parallel > way.own) return false;
    for (const Hop& hop : way.route.hops)
      if (hop.link < wanted.size())
        wanted[hop.link] += static_cast<UInt128>(way.alone) * hop.weight * parallel;
  }
  for (std::size_t link = 0; link < wanted.size(); ++link) {
    if (one_at_a_time(ends[link].sender) || one_at_a_time(ends[link].receiver)) continue;
    const Link& figures = network.links[relations.links[partition.first_link[link]]];
    if (wanted[link] > static_cast<UInt128>(figures.bandwidth.steps()) * kWeightUnit) return false;
  }
  return true;
}

std::optional<MaxPlusResult> run_max_plus(const Quotient& quotient, bool step_ends) {
  if (quotient.workload.calls.size() != 1) return std::nullopt;
  const CollectiveCall& call = quotient.workload.calls.front();
  if (call.schedule->slots() > 0 || call.traffic_weight != 1) return std::nullopt;
  if (call.members.size() != quotient.network.endpoints.size()) return std::nullopt;
  return Recursion{quotient, step_ends}.run();
}

}  // namespace lockstep::fold
