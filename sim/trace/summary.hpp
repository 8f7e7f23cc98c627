#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/trace/breakdown.hpp"
#include "sim/trace/critical_path.hpp"

/// Breakdown of the time of a simulated step.
namespace lockstep {

/// Utilization of a role, for example a pipeline stage: that of its rank with the most computation.
struct StageUse {
  std::size_t role = 0;
  std::string name{};
  Breakdown rank{};
  double idle_fraction = 0;  // fraction of the step without computation
};

struct TrainingStepSummary {
  Duration step;
  /// The stage that determines the step: the one with the longest Breakdown::busy(), the first on
  /// ties.
  Breakdown busiest{};
  std::vector<GroupTraffic> groups{};  // of that rank
  std::vector<PathShare> path{};       // the critical path by use, longest first
  std::vector<PathLeg> path_legs{};    // the critical path in order
  std::vector<PathOperation> path_operations{};
  std::vector<StageUse> stages{};  // simulated roles of ranks, in order
};

/// Throws InternalError for an inconsistent timeline: overlapping operations in a stream, or
/// operations that end after the step.
[[nodiscard]] TrainingStepSummary summarise(const TrainingStepTimeline& timeline);

}  // namespace lockstep
