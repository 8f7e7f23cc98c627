#pragma once

#include <span>

#include "sim/schedule/workload.hpp"
#include "strategies/interop/goal/goal.hpp"

namespace lockstep {

/// The schedule as a workload: one stream per operation, rank by rank in file order, named after
/// its label. Sends are eager, as LogGOPSim's below its threshold: the sender is free when its last
/// byte has left. Calculations on the same cpu of a rank run one at a time. The stream of an
/// operation named by `irequires` starts with an operation without duration, which marks its start.
/// The nic is ignored; routes are the network's. `members[r]` executes rank r; one is required per
/// rank. Requires a schedule from parse_goal().
[[nodiscard]] Workload to_workload(const GoalSchedule& schedule,
                                   std::span<const EndpointId> members);

}  // namespace lockstep
