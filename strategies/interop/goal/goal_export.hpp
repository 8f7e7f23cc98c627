#pragma once

#include <optional>
#include <string>

#include "sim/base/units.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

struct GoalExport {
  Bytes block;                      // size of one block of the schedule
  std::optional<Rate> reduce_rate;  // of the ranks; none: reductions take no time
  std::optional<Rate> copy_rate;    // within a rank's memory; none: copies take no time
};

/// A schedule as GOAL text, which specifies timing, not contents. A step requires all operations of
/// its lane's previous step and its named dependencies; channels become tags; reductions and copies
/// become calculations on cpu 0, in whole nanoseconds. GOAL has no rendezvous: a sender is free
/// when its last byte has left.
[[nodiscard]] std::string write_goal(const Schedule& schedule, const GoalExport& options);

}  // namespace lockstep
