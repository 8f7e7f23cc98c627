#include <fmt/format.h>

#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

void append(TrainingStepAssembly& step, StageScript& stage, Routine routine) {
  if (routine.operations.empty()) return;
  stage.calls.push_back({CallWork::other, {step.program.add(std::move(routine)), 0, 0}});
}

[[nodiscard]] Operation scaled(const Ref& ref, double factor, const char* name) {
  Operation out;
  out.kind = OperationKind::scale;
  out.name = name;
  out.purpose = Purpose::update;
  out.factor = factor;
  out.reads = {ref};
  out.writes = {ref};
  return out;
}

}  // namespace

void scale_for_averaging(TrainingStepAssembly& step) {
  // The loss is the mean over the samples of all replicas; one that trains apart has its own mean.
  for (StageScript& stage : step.stages) {
    for (const auto& [position, after] : finished_positions(stage)) {
      Routine out{"scale_gradients", {}};
      for (const TrainedWeight& weight : step.trained_at(position)) {
        if (weight.over.empty()) continue;
        out.operations.push_back(scaled(step.at(weight.gradient, weight, position),
                                        step.program.mesh.size(weight.over), "scale_gradient"));
      }
      append(step, stage, std::move(out));
    }
  }
}

void average_weights(TrainingStepAssembly& step) {
  for (StageScript& stage : step.stages) {
    for (const auto& [position, after] : finished_positions(stage)) {
      Routine out{"average_weights", {}};
      for (const auto& [over, weights] : grouped(step.trained_at(position), &TrainedWeight::over)) {
        if (over.empty()) continue;
        Operation sum = collective_of(step, Collective::all_reduce, over, "average_weights");
        sum.stream = stream_of(step, "dp", step.parallel.updates_by_bucket());
        sum.after_all = !step.parallel.updates_by_bucket();
        std::vector<Operation> scales;
        for (const TrainedWeight& weight : weights) {
          const bool master = !weight.states.empty() &&
                              step.graph.tensors[weight.states.front()].copy_of == weight.weight;
          const Ref ref = step.at(master ? weight.states.front() : weight.weight, weight, position);
          sum.reads.push_back(ref);
          sum.writes.push_back(ref);
          scales.push_back(scaled(ref, 1.0 / step.program.mesh.size(over), "average_weight"));
          if (!master) continue;
          Operation cast = scaled(ref, 1, "cast_weight");
          cast.kind = OperationKind::cast;
          cast.writes = {step.at(weight.weight, weight, position)};
          scales.push_back(std::move(cast));
        }
        out.operations.push_back(std::move(sum));
        out.operations.insert(out.operations.end(), scales.begin(), scales.end());
      }
      append(step, stage, std::move(out));
    }
  }
}

}  // namespace lockstep
