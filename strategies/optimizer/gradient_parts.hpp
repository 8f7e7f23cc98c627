#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "strategies/layout/training_step_assembly.hpp"

/// What the ways to exchange gradients share.
namespace lockstep {

/// Calls to insert after a call of a script, by its index; several in the order of insertion.
using Insertions = std::multimap<std::size_t, ScriptCall>;
void insert(StageScript& stage, const Insertions& insertions);

/// One gradient and where it stands.
struct PlacedGradient {
  TrainedWeight weight;
  int position = 0;
};

/// An in-place sum along `replicate`, which the gradients have in common: of shards (hybrid
/// sharding, group hsdp), or of whole gradients where all replicas lie beyond the shards (dp).
/// `hides`: it may run during computation.
[[nodiscard]] Operation sum_of_replicas(const TrainingStepAssembly& step,
                                        const std::vector<PlacedGradient>& gradients, bool hides);

/// ZeRO-2 and -3: brings a stage's gradients to their shards.
void scatter_gradients(TrainingStepAssembly& step, StageScript& stage);

}  // namespace lockstep
