#pragma once

#include <string>

#include "sim/execute/schedule/connections.hpp"
#include "sim/execute/schedule/execute.hpp"
#include "sim/execute/schedule/lane_states.hpp"

namespace lockstep::posted {

/// An execution without a ready lane.
struct HaltedExecution {
  const Schedule& schedule;
  const LaneStates& lanes;
  const Connections& connections;
  const Pool<PostedSend>& sends;
  const Pool<PostedReceive>& receives;
};

/// Completes `outcome`, which is `finished` on entry: `stuck`, with the blocked lanes and the wait
/// cycle, if some lane is not done; `malformed` if a message was sent and never received; otherwise
/// unchanged.
void report_unfinished(const HaltedExecution& execution, ExecuteOutcome& outcome);

/// Ends an execution at a step: "rank 1, lane 0, step 2 " and `what`.
void fail(ExecuteOutcome& outcome, const ScheduleStepIndex& at, const std::string& what,
          ExecuteOutcome::Kind kind);

}  // namespace lockstep::posted
