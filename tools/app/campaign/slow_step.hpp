#pragma once

#include "tools/app/campaign/campaign.hpp"

namespace lockstep::app {

/// The step with one GPU slower, simulated: a rank of the pipeline stage that waits the least. To
/// first order (the share of computation on the critical path) where such a step cannot be
/// simulated.
[[nodiscard]] SlowGpuEffect slow_step(const TrainingStepRequest& request,
                                      const TrainingStepResult& step, double slowdown);

/// A rank of a pipeline stage, the first along all other axes.
[[nodiscard]] int first_rank_of_stage(const ParallelConfig& parallel, int stage);

}  // namespace lockstep::app
