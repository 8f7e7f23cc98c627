#include "sim/execute/device_program/training_step_commands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/command_graph/schedule_commands.hpp"
#include "sim/execute/kernels/execution_error.hpp"

namespace lockstep::execution {

template <class Real>
TrainingStepCommands<Real>::TrainingStepCommands(ExecutionState& state,
                                                 TrainingStepInputs<Real> needs)
    : state_{state}, needs_{std::move(needs)} {}

template <class Real>
int TrainingStepCommands<Real>::device_of(int rank) const {
  const int cursors = static_cast<int>(state_.cursors().size());
  return device_of_rank(std::min(rank, cursors - 1), cursors, needs_.devices);
}

template <class Real>
void TrainingStepCommands<Real>::begin_step(
    const std::function<bool(int rank, std::uint32_t instance)>& written) {
  builder_ = std::make_unique<CommandGraphBuilder>(needs_.devices);
  held_.clear();
  own_.clear();
  lanes_.clear();
  spares_.clear();
  uses_.clear();
  met_.clear();
  last_of_.clear();
  for (const RankCursor& cursor : state_.cursors()) {
    const int device = device_of(cursor.rank);
    auto& of = held_.emplace_back();
    for (std::uint32_t i = 0; i < cursor.role->instances.size(); ++i) {
      const Tensor& tensor = cursor.role->tensor(i);
      const std::int64_t elements =
          needs_.layout_of(cursor.role->instances[i].tensor, cursor.rank).elements();
      of.push_back(
          {builder_->add_buffer(fmt::format("{} {}", state_.name_of(cursor.rank), tensor.name),
                                device, needs_.type(tensor), elements),
           written(cursor.rank, i)});
    }
    auto& streams = own_.emplace_back();
    for (std::size_t i = 0; i < cursor.streams.size(); ++i) {
      streams.push_back(builder_->add_stream(
          fmt::format("{} {}", state_.name_of(cursor.rank), state_.program().streams[i]), device));
    }
  }
}

template <class Real>
StreamIndex TrainingStepCommands<Real>::stream_of(const RankCursor& cursor,
                                                  std::uint32_t operation) const {
  return own_[static_cast<std::size_t>(cursor.rank)][cursor.operation(operation).operation->stream];
}

/// Further lanes of a collective have streams of their own.
template <class Real>
StreamIndex TrainingStepCommands<Real>::lane_stream(int rank, StreamIndex own, int lane) {
  if (lane == 0) return own;
  const auto [found, is_new] = lanes_.try_emplace({own, lane});
  if (is_new) {
    const CommandGraphStream& first = builder_->graph().streams[own];
    found->second =
        builder_->add_stream(fmt::format("{} lane {}", first.name, lane), device_of(rank));
  }
  return found->second;
}

template <class Real>
Region TrainingStepCommands<Real>::whole(BufferId buffer) const {
  return {buffer, 0, builder_->graph().buffers[buffer].elements};
}

/// Scratch memory in addition to the program's tensors, used by one stream for one purpose at a
/// time.
template <class Real>
BufferId TrainingStepCommands<Real>::spare(int rank, StreamIndex stream, std::size_t which,
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
auto TrainingStepCommands<Real>::use(BufferId buffer) -> Use& {
  if (uses_.size() <= buffer) uses_.resize(buffer + 1);
  return uses_[buffer];
}

template <class Real>
void TrainingStepCommands<Real>::wait_for_uses(StreamIndex stream, const std::vector<Region>& reads,
                                               const std::vector<Region>& writes) {
  for (const Region& region : reads) builder_->depend(stream, use(region.buffer).writer);
  for (const Region& region : writes) {
    builder_->depend(stream, use(region.buffer).writer);
    for (const CommandId reader : use(region.buffer).readers) builder_->depend(stream, reader);
  }
}

template <class Real>
void TrainingStepCommands<Real>::note_uses(CommandId command, const std::vector<Region>& reads,
                                           const std::vector<Region>& writes) {
  for (const Region& region : reads) use(region.buffer).readers.push_back(command);
  for (const Region& region : writes) use(region.buffer) = {command, {}};
}

template <class Real>
CommandId TrainingStepCommands<Real>::launch(StreamIndex stream, const KernelLaunch& kernel,
                                             std::vector<Region> reads,
                                             std::vector<Region> writes) {
  wait_for_uses(stream, reads, writes);
  const CommandId out =
      builder_->launch(stream, {reads, writes, std::make_shared<const KernelLaunch>(kernel)});
  note_uses(out, reads, writes);
  return out;
}

template <class Real>
CommandId TrainingStepCommands<Real>::copy(StreamIndex stream, Region to, Region from,
                                           StreamIndex from_stream) {
  wait_for_uses(stream, {from}, {to});
  const CommandId out = builder_->copy(stream, to, from, from_stream);
  note_uses(out, {from}, {to});
  return out;
}

// Operations.

template <class Real>
std::int64_t TrainingStepCommands<Real>::elements(const RankCursor& cursor,
                                                  std::uint32_t instance) const {
  return whole(buffer(cursor.rank, instance)).count;
}

template <class Real>
std::int64_t TrainingStepCommands<Real>::allocate(RankCursor& cursor, std::uint32_t instance) {
  held(cursor.rank, instance).written = false;
  return elements(cursor, instance);
}

/// What the program says comes before.
template <class Real>
void TrainingStepCommands<Real>::promise(const RankCursor& cursor, std::uint32_t operation) {
  const StreamIndex own = stream_of(cursor, operation);
  for (const std::uint32_t before : cursor.operation(operation).after) {
    const auto found = last_of_.find({cursor.rank, before});
    if (found != last_of_.end()) builder_->depend(own, found->second);
  }
}

template <class Real>
BufferId TrainingStepCommands<Real>::read(const RankCursor& cursor, std::uint32_t operation,
                                          std::uint32_t instance) {
  const Held& of = held(cursor.rank, instance);
  if (of.written) return of.buffer;
  throw ExecutionError{fmt::format("{} reads {}, which nobody has written",
                                   state_.who(cursor, operation),
                                   cursor.role->tensor(instance).name)};
}

/// Whether what is written is added to what is held.
template <class Real>
bool TrainingStepCommands<Real>::store(const RankCursor& cursor, std::uint32_t operation,
                                       std::uint32_t instance, bool add) {
  Held& of = held(cursor.rank, instance);
  const Tensor& tensor = cursor.role->tensor(instance);
  if (add && !of.written && tensor.category != Category::gradient) {
    throw ExecutionError{fmt::format("{} adds to {}, which nobody has written",
                                     state_.who(cursor, operation), tensor.name)};
  }
  of.writer = operation;
  return add && std::exchange(of.written, true);
}

template <class Real>
void TrainingStepCommands<Real>::begin(RankCursor& cursor, std::uint32_t operation) {
  promise(cursor, operation);
  const OperationKind kind = cursor.kind(operation);
  if (kind == OperationKind::send) send(cursor, operation);
  if (kind != OperationKind::collective) return;
  for (const std::uint32_t read : cursor.operation(operation).reads) {
    (void)this->read(cursor, operation, read);
  }
  CollectiveInstance& collective_instance = *cursor.collective_instances[operation];
  collective_instance.here[collective_instance.place_of(cursor.rank)] = true;
  ++collective_instance.come;
}

template <class Real>
bool TrainingStepCommands<Real>::end(RankCursor& cursor, std::uint32_t operation) {
  switch (cursor.kind(operation)) {
    case OperationKind::collective: {
      CollectiveInstance& collective_instance = *cursor.collective_instances[operation];
      if (!collective_instance.complete()) return false;
      if (!std::exchange(met_[&collective_instance], true)) meet(collective_instance);
      break;
    }
    case OperationKind::receive:
      if (!receive(cursor, operation)) return false;
      break;
    case OperationKind::send:
      break;
    default:
      compute(cursor, operation);
  }
  last_of_[{cursor.rank, operation}] = builder_->last(stream_of(cursor, operation));
  return true;
}

/// The sender may go on: its message is copied aside.
template <class Real>
void TrainingStepCommands<Real>::send(const RankCursor& cursor, std::uint32_t operation) {
  const StreamIndex own = stream_of(cursor, operation);
  const Region from = whole(read(cursor, operation, carried(cursor.operation(operation))));
  auto message = std::make_shared<Sent>();
  message->buffer =
      builder_->add_buffer(fmt::format("rank {} sent", cursor.rank), device_of(cursor.rank),
                           builder_->graph().buffers[from.buffer].type, from.count);
  message->count = from.count;
  message->stream = own;
  message->ready = copy(own, whole(message->buffer), from, own);
  state_.put(*cursor.messages[operation], message);
}

template <class Real>
bool TrainingStepCommands<Real>::receive(const RankCursor& cursor, std::uint32_t operation) {
  ExpectedMessage& message = *cursor.messages[operation];
  if (!state_.comes_next(message)) return false;
  const auto sent = std::static_pointer_cast<const Sent>(state_.take(message));
  const std::uint32_t to = carried(cursor.operation(operation));
  const Region where = whole(buffer(cursor.rank, to));
  if (sent->count != where.count) {
    throw ExecutionError{fmt::format("{} gets {} values where {} belong",
                                     state_.who(cursor, operation), sent->count, where.count)};
  }
  const StreamIndex own = stream_of(cursor, operation);
  (void)store(cursor, operation, to, false);
  held(cursor.rank, to).written = true;
  copy(own, where, {sent->buffer, 0, sent->count}, sent->stream);
  return true;
}

template class TrainingStepCommands<float>;
template class TrainingStepCommands<double>;

}  // namespace lockstep::execution
