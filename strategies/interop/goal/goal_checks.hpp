#pragma once

#include "strategies/interop/goal/goal.hpp"

namespace lockstep {

/// Notes operations that wait for themselves in a circle, one circle a rank.
void check_goal_cycles(const GoalSchedule& schedule, Problems& problems);

/// Notes sends that can only meet a receive of another size, one for each pair of ranks and tag.
void check_goal_messages(const GoalSchedule& schedule, Problems& problems);

/// `"l3"`, or where it stands: `the send in line 7`.
[[nodiscard]] std::string name_of(const GoalOperation& operation);

}  // namespace lockstep
