#pragma once

#include <span>

#include "strategies/layout/passes.hpp"

namespace lockstep {

/// The step before its passes: that of one device, with the mesh of its ranks. Model and layout
/// must outlive it.
[[nodiscard]] TrainingStepAssembly start_step(const ModelConfig& model,
                                              const ParallelConfig& parallel, int gpus_per_node);

/// Runs the passes that apply, in order. InternalError that names the pass and the fact if what a
/// pass needs does not hold; with `checks`, and always in debug builds, also if a fact that should
/// hold after a pass does not hold of the step itself.
void run_passes(TrainingStepAssembly& step, std::span<const StrategyPass> passes = kStrategyPasses,
                bool checks = false);

}  // namespace lockstep
