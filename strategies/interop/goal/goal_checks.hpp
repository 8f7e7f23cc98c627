#pragma once

#include "strategies/interop/goal/goal.hpp"

namespace lockstep {

/// Reports cyclic dependencies, one cycle per rank.
void check_goal_cycles(const GoalSchedule& schedule, Problems& problems);

/// Reports sends without a receive of equal size, one per pair of ranks and tag.
void check_goal_messages(const GoalSchedule& schedule, Problems& problems);

/// `"l3"`, or its location: `the send in line 7`.
[[nodiscard]] std::string name_of(const GoalOperation& operation);

}  // namespace lockstep
