#include "sim/execute/run_program/simulated_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/kernels/execution_error.hpp"

namespace lockstep::execution {

SimulatedOrder::SimulatedOrder(ExecutionState& state, const TrainingStepTimeline& timeline,
                               OperationRunner& runner, bool own_slots)
    : state_{state}, timeline_{timeline}, runner_{runner}, own_slots_{own_slots} {
  check_timeline();
  for (const RoleProgram& role : state.roles()) uses_.push_back(uses_of(role));
  plan_events();
}

void SimulatedOrder::check_timeline() {
  ranks_.assign(state_.cursors().size(), nullptr);
  for (const RankTimeline& of : timeline_.ranks) {
    if (of.rank >= 0 && of.rank < std::ssize(ranks_))
      ranks_[static_cast<std::size_t>(of.rank)] = &of;
  }
  for (const RankCursor& cursor : state_.cursors()) {
    const RankTimeline* of = ranks_[static_cast<std::size_t>(cursor.rank)];
    if (of == nullptr) {
      throw ExecutionError{
          fmt::format("the timeline says nothing of {}", state_.name_of(cursor.rank))};
    }
    if (of->operations.size() == cursor.role->operations.size()) continue;
    throw ExecutionError{fmt::format("the timeline has {} operations of {}, which has {}",
                                     of->operations.size(), state_.name_of(cursor.rank),
                                     cursor.role->operations.size())};
  }
}

void SimulatedOrder::plan_events() {
  for (const RankCursor& cursor : state_.cursors()) {
    for (std::uint32_t i = 0; i < cursor.role->operations.size(); ++i) {
      const Interval when = interval(cursor.rank, i);
      events_.push_back({when.start, true, cursor.rank, i});
      if (when.end > when.start) events_.push_back({when.end, false, cursor.rank, i});
    }
  }
  std::sort(events_.begin(), events_.end());
}

Interval SimulatedOrder::interval(int rank, std::uint32_t operation) const {
  return ranks_[static_cast<std::size_t>(rank)]->operations[operation];
}

void SimulatedOrder::run() {
  begin_step();
  for (std::size_t i = 0; i < events_.size();) {
    const TimePoint at = events_[i].at;
    for (; i < events_.size() && events_[i].at == at && !events_[i].starts; ++i) {
      if (!end(events_[i])) refuse_end(events_[i]);
    }
    std::vector<Event> starts;
    for (; i < events_.size() && events_[i].at == at; ++i) starts.push_back(events_[i]);
    run_starts(std::move(starts));
  }
}

void SimulatedOrder::begin_step() {
  progress_.clear();
  logs_.assign(state_.cursors().size(), {});
  for (const RankCursor& cursor : state_.cursors()) {
    const RoleProgram& role = *cursor.role;
    Progress& of = progress_.emplace_back();
    of.written.assign(role.instances.size(), 0);
    of.used.assign(role.instances.size(), 0);
    of.has_room.assign(role.instances.size(), false);
    for (std::uint32_t i = 0; i < role.instances.size(); ++i) {
      if (!role.tensor(i).resident) continue;
      of.has_room[i] = true;
      logs_[static_cast<std::size_t>(cursor.rank)].resident(
          i, bytes_of(cursor, i, runner_.elements(cursor, i)));
    }
  }
}

/// Goes through all that begins at one instant until nothing is left; what takes no time ends there
/// too, and others may wait for it.
void SimulatedOrder::run_starts(std::vector<Event> starts) {
  while (!starts.empty()) {
    std::vector<Event> left;
    for (const Event& event : starts) {
      if (!try_start(event)) left.push_back(event);
    }
    if (left.size() == starts.size()) refuse_end(left.front());
    starts = std::move(left);
  }
}

/// False where something at the same instant has to come first.
bool SimulatedOrder::try_start(const Event& event) {
  RankCursor& cursor = state_.cursors()[static_cast<std::size_t>(event.rank)];
  if (waits_for_instant(event)) return false;
  const Interval when = interval(event.rank, event.operation);
  if (!cursor.begun[event.operation]) begin(event);
  return when.end > when.start || end(event);
}

/// Whether an operation of the same rank that also takes no time is to end here first: one before
/// it in its stream, or one that it comes after.
bool SimulatedOrder::waits_for_instant(const Event& event) const {
  const RankCursor& cursor = state_.cursor(event.rank);
  const auto pending = [&](std::uint32_t before) {
    return !cursor.done[before] && interval(event.rank, before).start == event.at &&
           interval(event.rank, before).end == event.at;
  };
  const RoleOperation& what = cursor.operation(event.operation);
  if (std::any_of(what.after.begin(), what.after.end(), pending)) return true;
  const std::vector<std::uint32_t>& stream = cursor.streams[what.operation->stream];
  const auto own = std::lower_bound(stream.begin(), stream.end(), event.operation);
  return own != stream.begin() && pending(*(own - 1));
}

void SimulatedOrder::begin(const Event& event) {
  RankCursor& cursor = state_.cursors()[static_cast<std::size_t>(event.rank)];
  check_reads(event);
  check_writes(event);
  cursor.begun[event.operation] = true;
  runner_.begin(cursor, event.operation);
  give_room(event);
}

void SimulatedOrder::give_room(const Event& event) {
  RankCursor& cursor = state_.cursors()[static_cast<std::size_t>(event.rank)];
  const auto rank = static_cast<std::size_t>(event.rank);
  for (const std::uint32_t instance : cursor.operation(event.operation).writes) {
    if (progress_[rank].has_room[instance]) continue;
    progress_[rank].has_room[instance] = true;
    const std::int64_t elements = runner_.allocate(cursor, instance);
    logs_[rank].allocate(event.at, instance, bytes_of(cursor, instance, elements));
  }
}

bool SimulatedOrder::end(const Event& event) {
  RankCursor& cursor = state_.cursors()[static_cast<std::size_t>(event.rank)];
  if (!runner_.end(cursor, event.operation)) return false;
  state_.end(cursor, event.operation);
  const RoleOperation& what = cursor.operation(event.operation);
  Progress& of = progress_[static_cast<std::size_t>(event.rank)];
  for (const std::uint32_t instance : what.writes) ++of.written[instance];
  for (const std::uint32_t instance : what.reads) count_use(event, instance);
  for (const std::uint32_t instance : what.writes) count_use(event, instance);
  return true;
}

/// Frees what has had its last use.
void SimulatedOrder::count_use(const Event& event, std::uint32_t instance) {
  RankCursor& cursor = state_.cursors()[static_cast<std::size_t>(event.rank)];
  const auto rank = static_cast<std::size_t>(event.rank);
  const RoleUses& uses = uses_[cursor.role->role];
  if (++progress_[rank].used[instance] < uses.uses[instance]) return;
  if (cursor.role->tensor(instance).resident) return;
  progress_[rank].has_room[instance] = false;
  logs_[rank].release(event.at, instance,
                      bytes_of(cursor, instance, runner_.elements(cursor, instance)));
  runner_.release(cursor, instance);
}

/// As many as the executor's own buffer has elements, in the program's dtype.
Bytes SimulatedOrder::bytes_of(const RankCursor& cursor, std::uint32_t instance,
                               std::int64_t elements) const {
  const Tensor& tensor = cursor.role->tensor(instance);
  const bool other_slots = !own_slots_ && find_extent(tensor, Dim::slot) != nullptr;
  if (other_slots) return local_bytes(state_.program().mesh, tensor);
  return storage(tensor.dtype, elements);
}

}  // namespace lockstep::execution
