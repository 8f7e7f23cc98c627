#include "strategies/step/bound/routine_bound.hpp"

#include <algorithm>

#include "sim/program/kernel/kernel.hpp"

namespace lockstep {

namespace {

[[nodiscard]] const TensorTime* find(const std::vector<TensorTime>& times, TensorId tensor,
                                     int further) {
  const auto found = std::find_if(times.begin(), times.end(), [&](const TensorTime& each) {
    return each.tensor == tensor && each.further == further;
  });
  return found == times.end() ? nullptr : &*found;
}

void note_longest(std::vector<TensorTime>& times, const Ref& ref, Duration time) {
  for (TensorTime& each : times) {
    if (each.tensor != ref.tensor || each.further != ref.further) continue;
    each.time = std::max(each.time, time);
    return;
  }
  times.push_back({ref.tensor, ref.further, time});
}

/// The operations of a routine with what each follows.
class Graph {
 public:
  Graph(const Routine& routine, RoutineBound& out)
      : operations_{routine.operations}, out_{out}, order_{order_of(routine)} {}

  void solve() {
    walk_forward();
    const std::vector<std::optional<Duration>> rest =
        until([this](std::size_t i) { return is_compute(i); });
    for (const auto& [index, ref] : order_.outside) {
      if (!rest[index]) continue;
      note_longest(out_.after_reading, ref, *rest[index]);
      if (!out_.begins[index]) note_entry(ref);
    }
    for (Entry& entry : out_.entries)
      entry.until_end = out_.reads(entry.tensor, entry.further)->time;
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (!rest[i] && ends_[i] && exchanges(operations_[i])) note_exits(i);
  }

  /// Until the last of the operations that write `written` ends, from the first that reads `read`.
  [[nodiscard]] Duration between(const Ref& read, const Ref& written) const {
    std::size_t last = operations_.size();
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const std::vector<Ref>& writes = operations_[i].writes;
      const auto same = [&](const Ref& each) { return is_same_instance(each, written); };
      if (std::any_of(writes.begin(), writes.end(), same)) last = i;
    }
    const auto rest = until([last](std::size_t i) { return i == last; });
    Duration out;
    for (const auto& [index, ref] : order_.outside)
      if (is_same_instance(ref, read) && rest[index]) out = std::max(out, *rest[index]);
    return out;
  }

 private:
  [[nodiscard]] bool is_compute(std::size_t i) const {
    return operations_[i].stream == kComputeStream;
  }

  [[nodiscard]] static bool exchanges(const Operation& operation) {
    return operation.communication && operation.communication->group == "ep";
  }

  void note_exits(std::size_t i) {
    Duration alone = out_.times[i];
    for (const Ref& ref : operations_[i].writes) {
      if (ref.position || ref.microbatch) continue;
      out_.exits.push_back({ref.tensor, ref.further, alone, *ends_[i]});
      alone = {};
    }
  }

  /// When each ends at the earliest; of other streams none where no computation comes before.
  void walk_forward() {
    ends_.resize(operations_.size());
    out_.begins.resize(operations_.size());
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      std::optional<Duration> start;
      if (is_compute(i)) start = Duration{};
      for (const std::size_t before : order_.before[i])
        if (ends_[before]) start = std::max(start.value_or(Duration{}), *ends_[before]);
      out_.begins[i] = start;
      if (!start) continue;
      ends_[i] = *start + out_.times[i];
      if (!is_compute(i)) continue;
      out_.computes = true;
      out_.path = std::max(out_.path, *ends_[i]);
      for (const Ref& ref : operations_[i].writes)
        if (!ref.position && !ref.microbatch) note_written(ref, *ends_[i]);
    }
  }

  void note_entry(const Ref& ref) {
    const auto same = [&](const Entry& each) {
      return each.tensor == ref.tensor && each.further == ref.further;
    };
    if (std::any_of(out_.entries.begin(), out_.entries.end(), same)) return;
    Entry entry{ref.tensor, ref.further, {}, {}};
    for (const TensorTime& written : out_.until_written)
      if (written.tensor == ref.tensor && written.further != ref.further)
        entry.passing = Entry::Passing{
            written.further, between(ref, {.tensor = written.tensor, .further = written.further})};
    out_.entries.push_back(entry);
  }

  /// A later writer adds to what an earlier one wrote.
  void note_written(const Ref& ref, Duration end) { note_longest(out_.until_written, ref, end); }

  /// From the start of each until the last of the operations that `ends_with` names has ended, of
  /// those that follow it; none where none does.
  template <class EndsWith>
  [[nodiscard]] std::vector<std::optional<Duration>> until(EndsWith ends_with) const {
    std::vector<std::optional<Duration>> rest(operations_.size());
    for (std::size_t i = operations_.size(); i-- > 0;) {
      if (ends_with(i)) rest[i] = rest[i].value_or(Duration{});
      if (!rest[i]) continue;
      *rest[i] += out_.times[i];
      for (const std::size_t before : order_.before[i])
        rest[before] = std::max(rest[before].value_or(Duration{}), *rest[i]);
    }
    return rest;
  }

  const std::vector<Operation>& operations_;
  RoutineBound& out_;  // its times are there
  RoutineOrder order_;
  std::vector<std::optional<Duration>> ends_;
};

/// Groups whose traffic stands within the model's own routines.
[[nodiscard]] bool is_within_layers(const std::string& group) {
  return group == "tp" || group == "cp" || group == "ep";
}

[[nodiscard]] bool waits_its_own_way(const Operation& operation) {
  const bool message =
      operation.kind == OperationKind::send || operation.kind == OperationKind::receive;
  return message || operation.after_all || operation.ahead.has_value();
}

}  // namespace

bool is_same_instance(const Ref& a, const Ref& b) {
  return a.tensor == b.tensor && a.further == b.further && a.position == b.position;
}

RoutineOrder order_of(const Routine& routine) {
  const std::vector<Operation>& operations = routine.operations;
  RoutineOrder out;
  out.before.resize(operations.size());
  const auto follow = [&](std::size_t index, const auto& is_it) {
    for (std::size_t i = index; i-- > 0;) {
      if (!is_it(operations[i])) continue;
      out.before[index].push_back(i);
      return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < operations.size(); ++i) {
    for (const Ref& ref : operations[i].reads) {
      const bool inside = follow(i, [&](const Operation& each) {
        return std::any_of(each.writes.begin(), each.writes.end(),
                           [&](const Ref& written) { return is_same_instance(written, ref); });
      });
      if (!inside && !ref.position && !ref.microbatch) out.outside.push_back({i, ref});
    }
    follow(i, [&](const Operation& each) { return each.stream == operations[i].stream; });
  }
  return out;
}

const TensorTime* RoutineBound::reads(TensorId tensor, int further) const {
  return find(after_reading, tensor, further);
}

const TensorTime* RoutineBound::writes(TensorId tensor, int further) const {
  return find(until_written, tensor, further);
}

RoutineBound routine_bound(const Program& program, const Routine& routine, const CostModel& cost,
                           const CollectiveTime& collective, const HostTime& on_host) {
  RoutineBound out;
  out.times = OperationBounds::kernels(program, routine, cost);
  for (std::size_t i = 0; i < routine.operations.size(); ++i) {
    const Operation& operation = routine.operations[i];
    if (OperationBounds::host_counts(operation, cost))
      out.host += cost.host_time(kernel_of(program, routine, i));
    if (operation.stream == kComputeStream) out.host_to_computation = out.host;
    if (operation.kind == OperationKind::collective)
      out.times[i] = collective(operation);
    else if (const Duration time = on_host(operation); time > Duration{})
      out.times[i] = time;
    else if (operation.stream == kComputeStream)
      out.kernels += out.times[i];
    if (waits_its_own_way(operation)) out.is_plain = false;
  }
  Graph{routine, out}.solve();
  const bool has_free_communication =
      std::any_of(routine.operations.begin(), routine.operations.end(), [](const Operation& each) {
        return each.stream != kComputeStream &&
               !(each.communication && is_within_layers(each.communication->group));
      });
  if (!out.computes || has_free_communication) out.is_plain = false;
  return out;
}

Duration path_between(const Routine& routine, const RoutineBound& bound, const Ref& read,
                      const Ref& written) {
  RoutineBound times;
  times.times = bound.times;
  return Graph{routine, times}.between(read, written);
}

}  // namespace lockstep
