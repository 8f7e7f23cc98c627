#include "strategies/layout/passes.hpp"
#include "strategies/optimizer/gradient_parts.hpp"

namespace lockstep {

namespace {

[[nodiscard]] Operation over_gradients(OperationKind kind, const char* name) {
  Operation out;
  out.kind = kind;
  out.name = name;
  out.purpose = Purpose::update;
  return out;
}

}  // namespace

void zero_gradients(TrainingStepAssembly& step) {
  for (StageScript& stage : step.stages) {
    Operation zeroes = over_gradients(OperationKind::fill, "zero_gradients");
    for (const auto& [position, after] : finished_positions(stage))
      for (const TrainedWeight& weight : step.trained_at(position))
        zeroes.writes.push_back(step.at(weight.gradient, weight, position));
    if (zeroes.writes.empty()) continue;
    const RoutineId routine = step.program.add(Routine{"zero_gradients", {std::move(zeroes)}});
    stage.calls.insert(stage.calls.begin(), {CallWork::other, {routine, 0, 0}});
  }
}

std::vector<Operation> passes_before_sum(const TrainingStepAssembly& step,
                                         const std::vector<PlacedGradient>& gradients) {
  std::vector<Operation> out;
  if (step.parallel.passes_over_gradients(GradientPass::check))
    out.push_back(over_gradients(OperationKind::check_finite, "check_gradients"));
  const bool sums = !gradients.front().weight.over.empty();
  if (sums && step.parallel.passes_over_gradients(GradientPass::scale))
    out.push_back(over_gradients(OperationKind::scale, "scale_gradients"));
  for (Operation& pass : out)
    for (const auto& [weight, position] : gradients) {
      const Ref ref = step.at(weight.gradient, weight, position);
      pass.reads.push_back(ref);
      if (pass.kind == OperationKind::scale) pass.writes.push_back(ref);
    }
  return out;
}

}  // namespace lockstep
