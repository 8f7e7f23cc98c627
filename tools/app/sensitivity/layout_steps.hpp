#pragma once

#include <vector>

#include "tools/app/sensitivity/sensitivity.hpp"

namespace lockstep::app {

/// Half and twice every degree (with the ranks from or to data parallelism), microbatch size and
/// chunks per stage, and the next ZeRO stages; those alone that the ranks allow.
[[nodiscard]] std::vector<LayoutChange> layout_steps(const TrainingStepResult& result);

/// The step with a change.
[[nodiscard]] LayoutStep simulated(TrainingStepRequest request, const LayoutChange& change);

/// The fastest first, impossible ones last.
void sort_by_time(std::vector<LayoutStep>& steps);

}  // namespace lockstep::app
