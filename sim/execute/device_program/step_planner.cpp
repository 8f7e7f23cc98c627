#include "sim/execute/device_program/step_planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/device_plan/schedule_plan.hpp"
#include "sim/execute/kernels/execution_error.hpp"

namespace lockstep::execution {

template <class Real>
StepPlanner<Real>::StepPlanner(ExecutionState& state, StepPlanNeeds<Real> needs)
    : state_{state}, needs_{std::move(needs)} {}

template <class Real>
int StepPlanner<Real>::device_of(int rank) const {
  const int players = static_cast<int>(state_.players().size());
  return device_of_rank(std::min(rank, players - 1), players, needs_.devices);
}

template <class Real>
void StepPlanner<Real>::begin_step(
    const std::function<bool(int rank, std::uint32_t instance)>& written) {
  builder_ = std::make_unique<PlanBuilder>(needs_.devices);
  held_.clear();
  own_.clear();
  lanes_.clear();
  spares_.clear();
  uses_.clear();
  met_.clear();
  last_of_.clear();
  for (const Player& player : state_.players()) {
    const int device = device_of(player.rank);
    auto& of = held_.emplace_back();
    for (std::uint32_t i = 0; i < player.role->instances.size(); ++i) {
      const Tensor& tensor = player.role->tensor(i);
      const std::int64_t elements =
          needs_.layout_of(player.role->instances[i].tensor, player.rank).elements();
      of.push_back(
          {builder_->add_buffer(fmt::format("{} {}", state_.name_of(player.rank), tensor.name),
                                device, needs_.type(tensor), elements),
           written(player.rank, i)});
    }
    auto& streams = own_.emplace_back();
    for (std::size_t i = 0; i < player.streams.size(); ++i) {
      streams.push_back(builder_->add_stream(
          fmt::format("{} {}", state_.name_of(player.rank), state_.program().streams[i]), device));
    }
  }
}

template <class Real>
StreamIndex StepPlanner<Real>::stream_of(const Player& player, std::uint32_t operation) const {
  return own_[static_cast<std::size_t>(player.rank)][player.operation(operation).operation->stream];
}

/// Further lanes of a collective have streams of their own.
template <class Real>
StreamIndex StepPlanner<Real>::lane_stream(int rank, StreamIndex own, int lane) {
  if (lane == 0) return own;
  const auto [found, is_new] = lanes_.try_emplace({own, lane});
  if (is_new) {
    const PlanStream& first = builder_->plan().streams[own];
    found->second =
        builder_->add_stream(fmt::format("{} lane {}", first.name, lane), device_of(rank));
  }
  return found->second;
}

template <class Real>
Region StepPlanner<Real>::whole(BufferId buffer) const {
  return {buffer, 0, builder_->plan().buffers[buffer].elements};
}

/// Scratch memory in addition to the program's tensors, used by one stream for one purpose at a
/// time.
template <class Real>
BufferId StepPlanner<Real>::spare(int rank, StreamIndex stream, std::size_t which,
                                  std::int64_t elements, NumberType type) {
  const auto [found, is_new] = spares_.try_emplace({rank, stream, which, elements, type});
  if (is_new) {
    found->second = builder_->add_buffer(fmt::format("rank {} spare {}", rank, which),
                                         device_of(rank), type, elements);
  }
  return found->second;
}

// What buffers are used for.

template <class Real>
auto StepPlanner<Real>::use(BufferId buffer) -> Use& {
  if (uses_.size() <= buffer) uses_.resize(buffer + 1);
  return uses_[buffer];
}

template <class Real>
void StepPlanner<Real>::wait_for_uses(StreamIndex stream, const std::vector<Region>& reads,
                                      const std::vector<Region>& writes) {
  for (const Region& region : reads) builder_->depend(stream, use(region.buffer).writer);
  for (const Region& region : writes) {
    builder_->depend(stream, use(region.buffer).writer);
    for (const CommandId reader : use(region.buffer).readers) builder_->depend(stream, reader);
  }
}

template <class Real>
void StepPlanner<Real>::note_uses(CommandId command, const std::vector<Region>& reads,
                                  const std::vector<Region>& writes) {
  for (const Region& region : reads) use(region.buffer).readers.push_back(command);
  for (const Region& region : writes) use(region.buffer) = {command, {}};
}

template <class Real>
CommandId StepPlanner<Real>::launch(StreamIndex stream, const KernelLaunch& kernel,
                                    std::vector<Region> reads, std::vector<Region> writes) {
  wait_for_uses(stream, reads, writes);
  const CommandId out =
      builder_->launch(stream, {reads, writes, std::make_shared<const KernelLaunch>(kernel)});
  note_uses(out, reads, writes);
  return out;
}

template <class Real>
CommandId StepPlanner<Real>::copy(StreamIndex stream, Region to, Region from,
                                  StreamIndex from_stream) {
  wait_for_uses(stream, {from}, {to});
  const CommandId out = builder_->copy(stream, to, from, from_stream);
  note_uses(out, {from}, {to});
  return out;
}

// Operations.

template <class Real>
std::int64_t StepPlanner<Real>::elements(const Player& player, std::uint32_t instance) const {
  return whole(buffer(player.rank, instance)).count;
}

template <class Real>
std::int64_t StepPlanner<Real>::allocate(Player& player, std::uint32_t instance) {
  held(player.rank, instance).written = false;
  return elements(player, instance);
}

/// What the program says comes before.
template <class Real>
void StepPlanner<Real>::promise(const Player& player, std::uint32_t operation) {
  const StreamIndex own = stream_of(player, operation);
  for (const std::uint32_t before : player.operation(operation).after) {
    const auto found = last_of_.find({player.rank, before});
    if (found != last_of_.end()) builder_->depend(own, found->second);
  }
}

template <class Real>
BufferId StepPlanner<Real>::read(const Player& player, std::uint32_t operation,
                                 std::uint32_t instance) {
  const Held& of = held(player.rank, instance);
  if (of.written) return of.buffer;
  throw ExecutionError{fmt::format("{} reads {}, which nobody has written",
                                   state_.who(player, operation),
                                   player.role->tensor(instance).name)};
}

/// Whether what is written is added to what is held.
template <class Real>
bool StepPlanner<Real>::store(const Player& player, std::uint32_t operation, std::uint32_t instance,
                              bool add) {
  Held& of = held(player.rank, instance);
  const Tensor& tensor = player.role->tensor(instance);
  if (add && !of.written && tensor.category != Category::gradient) {
    throw ExecutionError{fmt::format("{} adds to {}, which nobody has written",
                                     state_.who(player, operation), tensor.name)};
  }
  of.writer = operation;
  return add && std::exchange(of.written, true);
}

template <class Real>
void StepPlanner<Real>::begin(Player& player, std::uint32_t operation) {
  promise(player, operation);
  const OperationKind kind = player.kind(operation);
  if (kind == OperationKind::send) send(player, operation);
  if (kind != OperationKind::collective) return;
  for (const std::uint32_t read : player.operation(operation).reads) {
    (void)this->read(player, operation, read);
  }
  CollectiveInstance& meeting = *player.meetings[operation];
  meeting.here[meeting.place_of(player.rank)] = true;
  ++meeting.come;
}

template <class Real>
bool StepPlanner<Real>::end(Player& player, std::uint32_t operation) {
  switch (player.kind(operation)) {
    case OperationKind::collective: {
      CollectiveInstance& meeting = *player.meetings[operation];
      if (!meeting.complete()) return false;
      if (!std::exchange(met_[&meeting], true)) meet(meeting);
      break;
    }
    case OperationKind::receive:
      if (!receive(player, operation)) return false;
      break;
    case OperationKind::send:
      break;
    default:
      compute(player, operation);
  }
  last_of_[{player.rank, operation}] = builder_->last(stream_of(player, operation));
  return true;
}

/// The sender may go on: its message is copied aside.
template <class Real>
void StepPlanner<Real>::send(const Player& player, std::uint32_t operation) {
  const StreamIndex own = stream_of(player, operation);
  const Region from = whole(read(player, operation, player.operation(operation).reads[0]));
  auto message = std::make_shared<Sent>();
  message->buffer =
      builder_->add_buffer(fmt::format("rank {} sent", player.rank), device_of(player.rank),
                           builder_->plan().buffers[from.buffer].type, from.count);
  message->count = from.count;
  message->stream = own;
  message->ready = copy(own, whole(message->buffer), from, own);
  state_.put(*player.messages[operation], message);
}

template <class Real>
bool StepPlanner<Real>::receive(const Player& player, std::uint32_t operation) {
  PlannedMessage& message = *player.messages[operation];
  if (!state_.comes_next(message)) return false;
  const auto sent = std::static_pointer_cast<const Sent>(state_.take(message));
  const std::uint32_t to = player.operation(operation).writes[0];
  const Region where = whole(buffer(player.rank, to));
  if (sent->count != where.count) {
    throw ExecutionError{fmt::format("{} gets {} values where {} belong",
                                     state_.who(player, operation), sent->count, where.count)};
  }
  const StreamIndex own = stream_of(player, operation);
  (void)store(player, operation, to, false);
  held(player.rank, to).written = true;
  copy(own, where, {sent->buffer, 0, sent->count}, sent->stream);
  return true;
}

template class StepPlanner<float>;
template class StepPlanner<double>;

}  // namespace lockstep::execution
