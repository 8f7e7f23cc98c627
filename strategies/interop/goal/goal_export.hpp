#pragma once

#include <optional>
#include <string>

#include "sim/base/units.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

struct GoalExport {
  Bytes block;                      // length of one of the schedule's blocks
  std::optional<Rate> reduce_rate;  // of the ranks; none: reductions take no time
  std::optional<Rate> copy_rate;    // within a rank's memory; none: copies take no time
};

/// A schedule as GOAL text, which says when things happen and not what is in the messages. A step
/// requires what the lane's step before and its named dependencies consist of; channels become
/// tags; what is reduced or copied within a rank becomes a calculation on cpu 0, in whole
/// nanoseconds. GOAL knows no rendezvous: a sender there is free when its last byte has left.
[[nodiscard]] std::string write_goal(const Schedule& schedule, const GoalExport& options);

}  // namespace lockstep
