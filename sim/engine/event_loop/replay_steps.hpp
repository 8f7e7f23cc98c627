#pragma once

#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/schedule/step_ends.hpp"

namespace lockstep {

struct ReplayedSteps {
  ReplayResult result;  // as replay() returns it
  /// Per call and member, of the latest of its lanes; empty if there are more than
  /// StepEndsLog::kMostPieces in all.
  std::vector<std::vector<StepEnds>> ends;
};

/// replay() of calls without streams, with the end of every step.
[[nodiscard]] ReplayedSteps replay_with_steps(const Network& network, const Workload& workload,
                                              NetworkModel model, const OnReplay& report = {});

}  // namespace lockstep
