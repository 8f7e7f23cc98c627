#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/trace/passes.hpp"
#include "sim/trace/summary.hpp"

namespace lockstep::app {

/// A collective of a rank that its computation waits for, between passes.
struct ExposedCommunication {
  std::string group;
  Interval interval;
};

/// What a pipeline stage does over the step, on the rank of it that computes longest.
struct StagePasses {
  std::string stage;     // "stage 3"
  std::size_t rank = 0;  // of the mesh
  std::vector<Pass> passes;
  std::vector<ExposedCommunication> exposed;
};

/// The stages of a summary of the timeline, in their order.
[[nodiscard]] std::vector<StagePasses> stage_passes(const TrainingStepTimeline& timeline,
                                                    const TrainingStepSummary& summary);

}  // namespace lockstep::app
