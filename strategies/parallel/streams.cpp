#include "strategies/parallel/step_assembly.hpp"

namespace lockstep {

namespace {

/// Whether what a group sends may run beside computation that does not need it.
[[nodiscard]] bool hides(const Operation& operation, const ParallelConfig& parallel) {
  const std::string& group = operation.communication->group;
  if (group == "cp") return parallel.overlaps(Overlap::cp);
  return true;
}

}  // namespace

void assign_streams(Program& program, const ParallelConfig& parallel) {
  for (Routine& routine : program.routines) {
    for (Operation& operation : routine.operations) {
      if (operation.kind != OperationKind::collective || operation.stream != kComputeStream) {
        continue;
      }
      if (hides(operation, parallel)) {
        operation.stream = program.stream(operation.communication->group);
      }
    }
  }
}

}  // namespace lockstep
