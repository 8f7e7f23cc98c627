#pragma once

#include <span>

#include "sim/schedule/workload.hpp"
#include "strategies/interop/goal/goal.hpp"

namespace lockstep {

/// What the engine replays: one stream per operation, rank by rank in the order of the file, named
/// after its label. Sends are eager, as LogGOPSim's below its threshold: the sender is free when
/// its last byte has left. Calculations on the same cpu of a rank run one at a time. A stream of
/// what is waited for by `irequires` has an operation that takes no time before its own: that is
/// when it could start. A nic says nothing: the network's routes do. `members[r]` plays rank r;
/// there must be one for each. The schedule must have passed parse_goal.
[[nodiscard]] Workload to_workload(const GoalSchedule& schedule,
                                   std::span<const EndpointId> members);

}  // namespace lockstep
