#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/trace/breakdown.hpp"
#include "sim/trace/critical_path.hpp"

/// Where the time of a simulated step goes.
namespace lockstep {

/// How busy a role is: of a pipeline, one of its stages. Of the ranks that play it, the one that
/// computes longest.
struct StageUse {
  std::size_t role = 0;
  std::string name{};
  Breakdown rank{};
  double idle_fraction = 0;  // of the step, without computation
};

struct TrainingStepSummary {
  Duration step;
  /// The stage that determines the step: of `stages` the one with the longest Breakdown::busy(),
  /// the first of equal ones.
  Breakdown busiest{};
  std::vector<GroupTraffic> groups{};  // of that rank
  std::vector<PathShare> path{};       // the critical path by what it goes to, longest first
  std::vector<PathLeg> path_legs{};    // the same path in its order
  std::vector<StageUse> stages{};      // roles of ranks that were simulated, in their order
};

/// Errors: InternalError where the timeline contradicts itself: operations of a stream that
/// overlap, or that end after the step.
[[nodiscard]] TrainingStepSummary summarise(const TrainingStepTimeline& timeline);

}  // namespace lockstep
