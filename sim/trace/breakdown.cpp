#include "sim/trace/breakdown.hpp"

#include <algorithm>
#include <span>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// Which routines of a role do the work of microbatches: those that compute forward or backward,
/// that pass messages between stages, or that are called for several microbatches.
class MicrobatchRoutines {
 public:
  MicrobatchRoutines(const Program& program, const Role& role)
      : contains_(program.routines.size(), false) {
    for (std::size_t i = 0; i < contains_.size(); ++i)
      contains_[i] = std::any_of(program.routines[i].operations.begin(),
                                 program.routines[i].operations.end(), is_of_microbatch);
    std::vector<std::optional<int>> first(program.routines.size());
    for (const Call& call : role.calls) {
      std::optional<int>& microbatch = first[call.routine];
      if (!microbatch) microbatch = call.microbatch;
      if (*microbatch != call.microbatch) contains_[call.routine] = true;
    }
  }

  [[nodiscard]] bool contains(RoutineId routine) const { return contains_[routine]; }

 private:
  [[nodiscard]] static bool is_of_microbatch(const Operation& operation) {
    if (operation.kind == OperationKind::send || operation.kind == OperationKind::receive)
      return true;
    return operation.purpose == Purpose::forward || operation.purpose == Purpose::backward ||
           operation.purpose == Purpose::recompute;
  }

  std::vector<bool> contains_;
};

/// The part of [from, to) that lies within [start, end).
[[nodiscard]] Duration overlap(TimePoint from, TimePoint to, TimePoint start, TimePoint end) {
  const TimePoint first = std::max(from, start);
  const TimePoint last = std::min(to, end);
  return first < last ? last - first : Duration{};
}

/// From the first to the last operation of a purpose on the compute stream of a rank.
struct PassInterval {
  bool any = false;
  TimePoint start{};
  TimePoint end{};

  void add(const Interval& interval) {
    start = any ? std::min(start, interval.start) : interval.start;
    end = any ? std::max(end, interval.end) : interval.end;
    any = true;
  }
};

/// When the pipeline fills and drains, seen from one rank.
class FillAndDrain {
 public:
  FillAndDrain(const RankTimeline& rank, const RoleProgram& role) {
    for (std::size_t i = 0; i < role.operations.size(); ++i) {
      const Operation& operation = *role.operations[i].operation;
      if (operation.stream != kComputeStream || is_communication(operation)) continue;
      if (operation.purpose == Purpose::forward) forward_.add(rank.operations[i]);
      if (operation.purpose == Purpose::backward) backward_.add(rank.operations[i]);
    }
  }

  /// How much of an idle stretch belongs to them.
  [[nodiscard]] Duration of(TimePoint from, TimePoint to) const {
    if (!forward_.any || !backward_.any) return {};
    // All forward, then all backward: waits within either pass are for slower stages.
    if (backward_.start >= forward_.end)
      return (to - from) - overlap(from, to, forward_.start, forward_.end) -
             overlap(from, to, backward_.start, backward_.end);
    return (to - from) - overlap(from, to, backward_.start, forward_.end);
  }

 private:
  PassInterval forward_;
  PassInterval backward_;
};

/// Fills a Breakdown, stretch by stretch.
class Accountant {
 public:
  Accountant(const Peers& peers, std::size_t rank)
      : peers_{&peers},
        microbatch_routines_{*peers.timeline().program,
                             peers.timeline().program->roles[peers.timeline().ranks[rank].role]},
        fill_and_drain_{peers.timeline().ranks[rank],
                        peers.timeline().roles[peers.timeline().ranks[rank].role]} {
    out_.rank = rank;
    out_.step = peers.timeline().end.since_start();
  }

  [[nodiscard]] Breakdown account() {
    const RankTimeline& rank = peers_->timeline().ranks[out_.rank];
    const RoleProgram& role = peers_->timeline().roles[rank.role];
    TimePoint done;
    for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
      if (role.operations[i].operation->stream != kComputeStream) continue;
      const Interval interval = rank.operations[i];
      LOCKSTEP_CHECK(interval.start >= done && interval.end >= interval.start);
      explain({out_.rank, i}, done, interval.start);
      add_operation({out_.rank, i}, interval.start, interval.end);
      done = interval.end;
    }
    account_end(done);
    LOCKSTEP_CHECK(out_.total() == out_.step);
    return out_;
  }

 private:
  [[nodiscard]] bool is_of_microbatch(Place place) const {
    return microbatch_routines_.contains(peers_->operation(place).call.routine);
  }

  /// Counts a stretch of the operation `of`, or of the wait for it.
  void add_busy(const TimeUse& use, Place of, Duration length) {
    add(use, peers_->operation(of).operation->purpose, length);
    const bool updates = peers_->operation(of).operation->purpose == Purpose::update;
    if (!updates && is_of_microbatch(of)) out_.of_microbatches += length;
  }

  void add(const TimeUse& use, Purpose purpose, Duration length) {
    switch (use.kind) {
      case TimeUse::Kind::computation:
        out_.computation[static_cast<std::size_t>(use.of)] += length;
        out_.purpose[static_cast<std::size_t>(purpose)] += length;
        break;
      case TimeUse::Kind::communication:
        out_.exposed[use.group] += length;
        break;
      case TimeUse::Kind::bubble:
        out_.bubble += length;
        break;
      case TimeUse::Kind::issue:
        out_.issue += length;
        break;
      case TimeUse::Kind::waiting:
        out_.waiting += length;
        break;
    }
  }

  void wait(TimePoint from, TimePoint to, bool other_stage) {
    add(other_stage ? TimeUse::bubble() : TimeUse::waiting(), Purpose::communication, to - from);
    if (other_stage) out_.fill_drain += fill_and_drain_.of(from, to);
  }

  /// Counts [from, to), which lies within the operation's interval.
  void add_operation(Place place, TimePoint from, TimePoint to) {
    if (from >= to) return;
    const Operation& operation = *peers_->operation(place).operation;
    if (!is_communication(operation)) {
      add_busy(TimeUse::computation(class_of(operation.kind)), place, to - from);
      return;
    }
    const Place latest = peers_->latest(place);
    const TimePoint start = std::clamp(peers_->interval(latest).start, from, to);
    wait(from, start, peers_->other_stage(place.rank, latest.rank));
    add_busy(TimeUse::communication(peers_->group(operation)), place, to - start);
  }

  /// Counts [from, to), in which nothing of the rank ran that held up the operation `held`.
  void add_wait(Place held, TimePoint from, TimePoint to) {
    if (peers_->bound_by_host(held)) {
      add_busy(TimeUse::issue(), held, to - from);
      return;
    }
    const bool by_peer = peers_->timeline().ranks[held.rank].operations.bound_by(held.operation) ==
                         OperationWaits::kPeer;
    wait(from, to, by_peer && peers_->other_stage(held.rank, peers_->latest(held).rank));
  }

  /// Counts [from, to), in which the compute stream is idle until `held` starts.
  void explain(Place held, TimePoint from, TimePoint to) {
    while (from < to) {
      const std::optional<Place> cause = peers_->before(held);
      const TimePoint end = cause ? std::max(from, peers_->interval(*cause).end) : from;
      if (end < to) {
        add_wait(held, end, to);
        to = end;
      }
      if (!cause) return;
      const TimePoint start = std::clamp(peers_->interval(*cause).start, from, to);
      add_operation(*cause, start, to);
      to = start;
      held = *cause;
    }
  }

  /// What follows the last operation of the compute stream.
  void account_end(TimePoint done) {
    const TrainingStepTimeline& timeline = peers_->timeline();
    const std::span<const TimePoint> ends = timeline.ranks[out_.rank].operations.ends();
    const auto ends_last = std::max_element(ends.begin(), ends.end());
    TimePoint end = done;
    if (ends_last != ends.end() && *ends_last > done) {
      end = *ends_last;
      const Place last{out_.rank, static_cast<std::uint32_t>(ends_last - ends.begin())};
      const TimePoint start = std::max(done, peers_->interval(last).start);
      add_operation(last, start, end);
      explain(last, done, start);
    }
    LOCKSTEP_CHECK(end <= timeline.end);
    wait(end, timeline.end, peers_->other_stage(out_.rank, last_rank()));
  }

  [[nodiscard]] std::size_t last_rank() const {
    const std::vector<RankTimeline>& ranks = peers_->timeline().ranks;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (const TimePoint end : ranks[i].operations.ends()) {
        if (end == peers_->timeline().end) return i;
      }
    }
    return out_.rank;
  }

  const Peers* peers_;
  MicrobatchRoutines microbatch_routines_;
  FillAndDrain fill_and_drain_;
  Breakdown out_;
};

[[nodiscard]] Bytes bytes_of(const RoleProgram& role, const IndexList& instances) {
  Bytes sum;
  for (const std::uint32_t instance : instances) {
    sum += local_bytes(role.program->mesh, role.tensor(instance));
  }
  return sum;
}

}  // namespace

Duration Breakdown::computation_total() const {
  Duration sum;
  for (const Duration each : computation) sum += each;
  return sum;
}

Duration Breakdown::exposed_total() const {
  Duration sum;
  for (const auto& [group, each] : exposed) sum += each;
  return sum;
}

Duration Breakdown::total() const {
  return computation_total() + exposed_total() + bubble + issue + waiting;
}

Breakdown breakdown(const Peers& peers, std::size_t rank) {
  return Accountant{peers, rank}.account();
}

double bubble_fraction(const Breakdown& rank) {
  const double ideal = rank.of_microbatches.seconds();
  return ideal > 0 ? rank.bubble.seconds() / ideal : 0;
}

Bytes message_bytes(const RoleProgram& role, std::uint32_t operation) {
  const RoleOperation& of = role.operations[operation];
  return std::max(bytes_of(role, of.reads), bytes_of(role, of.writes));
}

std::vector<GroupTraffic> traffic_by_group(const Peers& peers, const Breakdown& breakdown) {
  const RankTimeline& rank = peers.timeline().ranks[breakdown.rank];
  const RoleProgram& role = peers.timeline().roles[rank.role];
  std::map<std::string, GroupTraffic> by_group;
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    const Operation& operation = *role.operations[i].operation;
    if (!is_communication(operation)) continue;
    GroupTraffic& traffic = by_group[peers.group(operation)];
    const TimePoint start = peers.transfer_start({breakdown.rank, i});
    traffic.operations += 1;
    traffic.transfer += rank.operations.end_of(i) - start;
    traffic.waiting += start - rank.operations.start_of(i);
    traffic.bytes += message_bytes(role, i);
  }
  std::vector<GroupTraffic> out;
  for (auto& [group, traffic] : by_group) {
    traffic.group = group;
    const auto exposed = breakdown.exposed.find(group);
    if (exposed != breakdown.exposed.end()) traffic.exposed = exposed->second;
    out.push_back(traffic);
  }
  return out;
}

}  // namespace lockstep
