#pragma once

#include "strategies/step/simulate.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"

namespace lockstep::app {

struct TrainingStepRequest;
struct PreparedTrainingStep;

/// Before the simulation, with operations in the order of their launch. Throws DoesNotFit if a GPU
/// has too little memory, unless the request or the scenario ignores memory.
void check_memory(const TrainingStepRequest& request, const PreparedTrainingStep& prepared);

/// After it: memory of the rank with the highest need. Throws the same.
[[nodiscard]] RankMemory checked_memory(const TrainingStepRequest& request,
                                        const PreparedTrainingStep& prepared,
                                        const SimulatedTrainingStep& step);

/// The same without a check.
[[nodiscard]] RankMemory memory_of(const PreparedTrainingStep& prepared,
                                   const SimulatedTrainingStep& step);

}  // namespace lockstep::app
