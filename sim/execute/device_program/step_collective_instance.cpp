#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/device_program/collective_commands.hpp"
#include "sim/execute/device_program/training_step_commands.hpp"
#include "sim/execute/kernels/execution_error.hpp"

namespace lockstep::execution {

/// Everyone has come: what they bring is exchanged.
template <class Real>
void TrainingStepCommands<Real>::meet(CollectiveInstance& collective_instance) {
  CollectiveTensors<Real> tensors;
  tensors.members = collective_instance.members;
  tensors.root = collective_instance.root;
  const RankCursor& first = state_.cursor(collective_instance.members[0]);
  const RoleOperation& what = first.operation(collective_instance.operations[0]);
  tensors.how = &*what.operation->communication;
  for (std::size_t k = 0; k < collective_instance.members.size(); ++k) {
    const RankCursor& cursor = state_.cursor(collective_instance.members[k]);
    const std::uint32_t operation = collective_instance.operations[k];
    const RoleOperation& own = cursor.operation(operation);
    const Communication& other = *own.operation->communication;
    if (other.collective != tensors.how->collective || other.reduction != tensors.how->reduction ||
        other.cut != tensors.how->cut || other.joined != tensors.how->joined) {
      throw ExecutionError{fmt::format("{} meets {}",
                                       state_.who(first, collective_instance.operations[0]),
                                       state_.who(cursor, operation))};
    }
    tensors.streams.push_back(stream_of(cursor, operation));
    const std::size_t count = std::max(own.reads.size(), own.writes.size());
    if (tensors.parts.size() < count) {
      tensors.parts.resize(count);
    }
    for (std::size_t i = 0; i < count; ++i) {
      tensors.parts[i].resize(collective_instance.members.size());
      CollectivePart& part = tensors.parts[i][k];
      if (i < own.reads.size()) {
        part.from = &needs_.layout(cursor, operation, own.reads[i]);
        part.brought = whole(read(cursor, operation, own.reads[i]));
      }
    }
  }
  for (auto& parts : tensors.parts) parts.resize(collective_instance.members.size());
  for (std::size_t k = 0; k < collective_instance.members.size(); ++k) {
    const RankCursor& cursor = state_.cursor(collective_instance.members[k]);
    const std::uint32_t operation = collective_instance.operations[k];
    const RoleOperation& own = cursor.operation(operation);
    for (std::size_t i = 0; i < own.writes.size(); ++i) {
      CollectivePart& part = tensors.parts[i][k];
      part.to = &needs_.layout(cursor, operation, own.writes[i]);
      part.got = whole(buffer(cursor.rank, own.writes[i]));
      part.adds = store(cursor, operation, own.writes[i], own.operation->accumulate);
      held(cursor.rank, own.writes[i]).written = true;
    }
  }
  const auto schedule = needs_.schedule_of && collective_instance.members.size() > 1
                            ? needs_.schedule_of(*first.role, what, collective_instance.members,
                                                 collective_instance.root)
                            : nullptr;
  CollectiveRoom room;
  room.launch = [this](StreamIndex stream, const KernelLaunch& kernel, std::vector<Region> reads,
                       std::vector<Region> writes) {
    return launch(stream, kernel, std::move(reads), std::move(writes));
  };
  room.spare = [this](int rank, StreamIndex stream, std::size_t which, std::int64_t elements,
                      NumberType type) { return spare(rank, stream, which, elements, type); };
  room.lane = [this](int rank, StreamIndex own, int lane) { return lane_stream(rank, own, lane); };
  room.builder = builder_.get();
  try {
    plan_collective<Real>(tensors, schedule.get(), room);
  } catch (const ExecutionError& error) {
    throw ExecutionError{fmt::format("{} with {} others: {}",
                                     state_.who(first, collective_instance.operations[0]),
                                     collective_instance.members.size() - 1, error.what())};
  }
}

template void TrainingStepCommands<float>::meet(CollectiveInstance&);
template void TrainingStepCommands<double>::meet(CollectiveInstance&);

}  // namespace lockstep::execution
