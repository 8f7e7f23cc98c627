#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/trace/passes.hpp"
#include "sim/trace/summary.hpp"

namespace lockstep::app {

/// A collective between passes on which a rank's computation waits.
struct ExposedCommunication {
  std::string group;
  Interval interval;
};

/// Passes of a pipeline stage over the step, on its rank with the most computation.
struct StagePasses {
  std::string stage;     // "stage 3"
  std::size_t rank = 0;  // of the mesh
  std::vector<Pass> passes;
  std::vector<ExposedCommunication> exposed;
};

/// The stages of a timeline's summary, in order.
[[nodiscard]] std::vector<StagePasses> stage_passes(const TrainingStepTimeline& timeline,
                                                    const TrainingStepSummary& summary);

}  // namespace lockstep::app
