#include "strategies/parallel/step_assembly.hpp"

namespace lockstep {

namespace {

/// Whether what a group sends may run beside computation that does not need it. Of data parallelism
/// that matters to what comes block by block; all else stands at the ends of the step.
[[nodiscard]] bool hides(const Operation& operation, const ParallelConfig& parallel) {
  const Communication& how = *operation.communication;
  if (how.group == "cp") return parallel.overlaps(Overlap::cp);
  if (how.group == "tp") return parallel.overlaps(Overlap::tp);
  const bool sums = how.collective == Collective::reduce_scatter;
  if (how.group == "dp" && sums) return parallel.overlaps(Overlap::dp_gradients);
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
