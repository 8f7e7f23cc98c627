#include "strategies/step/bound/program_bound.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace lockstep {

namespace {

/// A tensor of one position and microbatch.
struct Instance {
  TensorId tensor = 0;
  int position = 0;
  int microbatch = 0;

  [[nodiscard]] std::uint64_t key() const {
    return (std::uint64_t{tensor} << 40U) | (static_cast<std::uint64_t>(position) << 20U) |
           static_cast<std::uint64_t>(microbatch);
  }
  friend bool operator==(const Instance&, const Instance&) = default;
};

[[nodiscard]] Instance instance_of(const Program& program, const Ref& ref, const Call& call) {
  const Scope scope = program.tensors[ref.tensor].scope;
  Instance out{ref.tensor};
  if (scope != Scope::step) out.position = ref.position.value_or(call.position + ref.further);
  if (scope == Scope::microbatch) out.microbatch = ref.microbatch.value_or(call.microbatch);
  return out;
}

using Arrivals = std::unordered_map<std::uint64_t, Duration>;

/// One role's calls, as far as messages have come.
class RoleClock {
 public:
  RoleClock(const Program& program, const Role& role, const std::vector<RoutineBound>& routines,
            OperationBounds& bounds)
      : program_{program},
        role_{role},
        routines_{routines},
        bounds_{bounds},
        rank_{program.first_rank(role)},
        streams_(program.streams.size()) {}

  /// Goes on until the end or a message that has not come. Whether there was anything to do.
  bool advance(Arrivals& arrivals, bool waits) {
    const std::size_t before = next_;
    while (next_ < role_.calls.size()) {
      const Call& call = role_.calls[next_];
      const RoutineBound& routine = routines_[call.routine];
      if (routine.is_plain) {
        play(call, routine);
      } else if (!play_each(call, routine, arrivals, waits)) {
        break;
      }
      ++next_;
    }
    return next_ > before;
  }

  [[nodiscard]] bool is_done() const { return next_ == role_.calls.size(); }

  [[nodiscard]] Duration end() const {
    Duration out = std::max(now_, host_);
    for (const Duration stream : streams_) out = std::max(out, stream);
    return out;
  }

 private:
  /// What computation of later calls waits for.
  struct Pending {
    Instance instance;
    Duration there;
  };

  void play(const Call& call, const RoutineBound& routine) {
    const Duration begin = std::max(now_, blocker_);
    Duration end = begin + routine.path;
    if (!pending_.empty()) {
      std::erase_if(pending_, [&](const Pending& each) {
        const TensorTime* after = read_by(call, routine, each.instance);
        if (after == nullptr) return false;
        end = std::max(end, each.there + after->time);
        return true;
      });
    }
    std::optional<Pending> passed;
    for (const Entry& entry : routine.entries) {
      const Duration there =
          written(instance_of(program_, {.tensor = entry.tensor, .further = entry.further}, call));
      end = std::max(end, there + entry.until_end);
      if (!entry.passing) continue;
      const Ref out{.tensor = entry.tensor, .further = entry.passing->further};
      passed = Pending{instance_of(program_, out, call), there + entry.passing->time};
    }
    passed_ = passed;
    leave(call, routine, begin);
    now_ = std::max(end, host_ + routine.host_to_computation);
    host_ += routine.host;
    note(call, begin);
  }

  /// All-to-alls of experts of several microbatches go one after the other.
  void leave(const Call& call, const RoutineBound& routine, Duration begin) {
    for (const Exit& exit : routine.exits) {
      exchanged_ = std::max(exchanged_ + exit.time, begin + exit.until_made);
      const Ref out{.tensor = exit.tensor, .further = exit.further};
      pending_.push_back({instance_of(program_, out, call), exchanged_});
    }
  }

  void note(const Call& call, Duration begin) {
    last_ = &call;
    last_begin_ = begin;
    if (static_cast<std::size_t>(call.position) >= begins_.size())
      begins_.resize(static_cast<std::size_t>(call.position) + 1);
    begins_[static_cast<std::size_t>(call.position)] = begin;
  }

  [[nodiscard]] const TensorTime* read_by(const Call& call, const RoutineBound& routine,
                                          const Instance& instance) const {
    const Scope scope = program_.tensors[instance.tensor].scope;
    if (scope == Scope::microbatch && instance.microbatch != call.microbatch) return nullptr;
    const int further = scope == Scope::step ? 0 : instance.position - call.position;
    return routine.reads(instance.tensor, further);
  }

  /// False: a message has not come, and the call is still to be done.
  bool play_each(const Call& call, const RoutineBound& routine, Arrivals& arrivals, bool waits) {
    const std::vector<Operation>& operations = program_.routines[call.routine].operations;
    for (const Operation& operation : operations) {
      if (operation.kind != OperationKind::receive || !waits) continue;
      if (!arrivals.contains(instance_of(program_, carried(operation), call).key())) return false;
    }
    host_ += routine.host;
    for (std::size_t i = 0; i < operations.size(); ++i)
      play_one(call, operations[i], routine.times[i], arrivals);
    return true;
  }

  void play_one(const Call& call, const Operation& operation, Duration time, Arrivals& arrivals) {
    switch (operation.kind) {
      case OperationKind::receive:
        receive(call, operation, arrivals);
        return;
      case OperationKind::send:
        send(call, operation, arrivals);
        return;
      default:
        run(call, operation, time);
    }
  }

  void receive(const Call& call, const Operation& operation, const Arrivals& arrivals) {
    const Instance what = instance_of(program_, carried(operation), call);
    const auto found = arrivals.find(what.key());
    const Duration there = found == arrivals.end() ? Duration{} : found->second;
    streams_[operation.stream] = std::max(streams_[operation.stream], there);
    if (operation.ahead == 0 && is_read_next(what)) blocker_ = std::max(blocker_, there);
    pending_.push_back({what, there});
  }

  /// Whether the next computation reads it: of two passes that go in turn the other one may not.
  [[nodiscard]] bool is_read_next(const Instance& what) const {
    for (std::size_t i = next_; i < role_.calls.size(); ++i) {
      const Call& call = role_.calls[i];
      const RoutineBound& routine = routines_[call.routine];
      if (routine.computes) return read_by(call, routine, what) != nullptr;
    }
    return false;
  }

  void send(const Call& call, const Operation& operation, Arrivals& arrivals) {
    if (operation.communication->host) return;
    const MessageBound time = bounds_.message(program_, rank_, operation);
    const Instance what = instance_of(program_, carried(operation), call);
    Duration begin;
    if (operation.stream == kComputeStream) {
      begin = std::max(now_, blocker_);
      now_ = begin + time.sending;
    } else {
      begin = std::max(streams_[operation.stream], written(what));
      streams_[operation.stream] = begin + time.sending;
    }
    arrivals[what.key()] = begin + time.sending + time.latency;
  }

  /// When the last call may have written it; zero where it did not.
  [[nodiscard]] Duration written(const Instance& instance) const {
    if (sliced_ && *sliced_ == instance) return sliced_at_;
    if (last_ == nullptr || instance.microbatch != last_->microbatch) return {};
    const int further = instance.position - last_->position;
    const TensorTime* until = routines_[last_->routine].writes(instance.tensor, further);
    Duration out = until == nullptr ? Duration{} : last_begin_ + until->time;
    if (passed_ && passed_->instance == instance) out = std::max(out, passed_->there);
    return out;
  }

  /// Anything that is no message.
  void run(const Call& call, const Operation& operation, Duration time) {
    const bool computes = operation.stream == kComputeStream;
    Duration begin = computes ? std::max(now_, blocker_) : streams_[operation.stream];
    if (operation.after_all) begin = std::max({begin, now_, latest_stream()});
    if (operation.ahead == 0) begin = std::max(begin, now_);
    for (const Ref& ref : operation.reads) begin = std::max(begin, there(call, ref));
    const Duration end = begin + time;
    (computes ? now_ : streams_[operation.stream]) = end;
    for (const Ref& ref : operation.writes) note_written(call, ref, computes, end);
  }

  /// When what it reads is there at the earliest.
  [[nodiscard]] Duration there(const Call& call, const Ref& ref) {
    const Instance what = instance_of(program_, ref, call);
    Duration out;
    std::erase_if(pending_, [&](const Pending& each) {
      if (each.instance != what) return false;
      out = std::max(out, each.there);
      return true;
    });
    const Tensor& tensor = program_.tensors[ref.tensor];
    const auto position = static_cast<std::size_t>(what.position);
    if (tensor.category == Category::gradient && position < begins_.size())
      out = std::max(out, begins_[position]);
    return out;
  }

  void note_written(const Call& call, const Ref& ref, bool computes, Duration end) {
    const Instance what = instance_of(program_, ref, call);
    if (computes) {
      sliced_ = what;
      sliced_at_ = end;
      return;
    }
    pending_.push_back({what, end});
  }

  [[nodiscard]] Duration latest_stream() const {
    Duration out;
    for (const Duration stream : streams_) out = std::max(out, stream);
    return out;
  }

  const Program& program_;
  const Role& role_;
  const std::vector<RoutineBound>& routines_;
  OperationBounds& bounds_;
  int rank_;
  std::size_t next_ = 0;
  Duration now_;      // end of what the compute stream has done
  Duration host_;     // end of what the host has launched
  Duration blocker_;  // a receive that the next computation waits for
  std::vector<Duration> streams_;
  Duration exchanged_;  // end of all-to-alls of experts that later calls wait for
  std::vector<Pending> pending_;
  const Call* last_ = nullptr;  // that computed
  Duration last_begin_;
  std::optional<Pending> passed_;  // what it passed on of what came to it
  std::vector<Duration> begins_;   // by position: of the last call that computed
  std::optional<Instance> sliced_;
  Duration sliced_at_;
};

/// Of each routine: one rank of each role that calls it.
[[nodiscard]] std::vector<std::vector<int>> callers(const Program& program) {
  std::vector<std::vector<int>> out(program.routines.size());
  for (const Role& role : program.roles) {
    if (role.host) continue;
    const int rank = program.first_rank(role);
    for (const Call& call : role.calls) {
      std::vector<int>& of = out[call.routine];
      if (of.empty() || of.back() != rank) of.push_back(rank);
    }
  }
  return out;
}

/// Communication takes the least of what it takes the ranks.
[[nodiscard]] std::vector<RoutineBound> routine_bounds(const Program& program,
                                                       const CostModel& cost,
                                                       OperationBounds& bounds) {
  const std::vector<std::vector<int>> ranks = callers(program);
  std::vector<RoutineBound> out;
  for (std::size_t i = 0; i < program.routines.size(); ++i) {
    const auto least = [&](const Operation& operation) {
      std::optional<Duration> time;
      for (const int rank : ranks[i]) {
        const Duration of = bounds.collective(program, rank, operation);
        time = time ? std::min(*time, of) : of;
      }
      return time.value_or(Duration{});
    };
    const auto on_host = [&](const Operation& operation) {
      return bounds.on_host(program, operation);
    };
    out.push_back(routine_bound(program, program.routines[i], cost, least, on_host));
  }
  return out;
}

}  // namespace

Duration program_bound(const Program& program, const CostModel& cost, OperationBounds& bounds) {
  const std::vector<RoutineBound> routines = routine_bounds(program, cost, bounds);
  std::vector<RoleClock> clocks;
  for (const Role& role : program.roles)
    if (!role.host) clocks.emplace_back(program, role, routines, bounds);
  Arrivals arrivals;
  for (bool waits = true;;) {
    bool moved = false;
    for (RoleClock& clock : clocks) moved = clock.advance(arrivals, waits) || moved;
    const auto done = [](const RoleClock& clock) { return clock.is_done(); };
    if (std::all_of(clocks.begin(), clocks.end(), done)) break;
    if (!moved) waits = false;  // what hosts send
  }
  Duration out;
  for (const RoleClock& clock : clocks) out = std::max(out, clock.end());
  return out;
}

}  // namespace lockstep
