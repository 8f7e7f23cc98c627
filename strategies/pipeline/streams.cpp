#include <array>
#include <string_view>
#include <utility>

#include "strategies/layout/training_step_assembly.hpp"

namespace lockstep {

namespace {

/// Groups whose traffic stands within the model's own routines.
constexpr std::array<std::pair<const char*, Overlap>, 3> kWithinLayers{
    {{"cp", Overlap::cp}, {"ep", Overlap::ep}, {"tp", Overlap::tp}}};

[[nodiscard]] bool may_hide(const Operation& operation, const ParallelConfig& parallel) {
  for (const auto& [group, overlap] : kWithinLayers) {
    if (operation.communication->group == group) return parallel.overlaps(overlap);
  }
  return false;
}

}  // namespace

StreamId stream_of(const TrainingStepAssembly& step, std::string_view group, bool hides) {
  return hides ? step.program.stream(group) : kComputeStream;
}

void assign_streams(Program& program, const ParallelConfig& parallel) {
  for (Routine& routine : program.routines) {
    for (Operation& operation : routine.operations) {
      if (operation.kind != OperationKind::collective || operation.stream != kComputeStream) {
        continue;
      }
      if (may_hide(operation, parallel)) {
        operation.stream = program.stream(operation.communication->group);
      }
    }
  }
}

}  // namespace lockstep
