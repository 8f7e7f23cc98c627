#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "strategies/layout/training_step_assembly.hpp"

/// Shared by the passes that reduce gradients.
namespace lockstep {

/// Calls to insert after a call of a script, keyed by its index; equal keys in order of insertion.
using Insertions = std::multimap<std::size_t, ScriptCall>;
void insert(StageScript& stage, const Insertions& insertions);

/// A gradient and its position in the model.
struct PlacedGradient {
  TrainedWeight weight;
  int position = 0;
};

/// An all-reduce, in place unless it adds to the sum over microbatches, along the gradients' common
/// `replicate`: of shards (hybrid sharding, group hsdp), or of whole gradients if ZeRO shards none
/// (group dp). `hides`: may overlap with computation.
[[nodiscard]] Operation sum_of_replicas(TrainingStepAssembly& step,
                                        const std::vector<PlacedGradient>& gradients, bool hides);

/// Passes over the gradients of a bucket before their sum: the check, for which the host waits,
/// then the factor, 1 here: the loss is the mean over all samples already.
[[nodiscard]] std::vector<Operation> passes_before_sum(
    const TrainingStepAssembly& step, const std::vector<PlacedGradient>& gradients);

/// ZeRO-2 and ZeRO-3: reduce-scatters a stage's gradients.
void scatter_gradients(TrainingStepAssembly& step, StageScript& stage);

}  // namespace lockstep
