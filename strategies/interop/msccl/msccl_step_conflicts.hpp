#pragma once

#include <cstddef>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Transfers that must complete before a receive of the same step when transfers run concurrently,
/// as indices in the step's lists.
struct MscclConflicts {
  /// Sends from the blocks it writes, except those that `receives` wait for.
  std::vector<std::size_t> sends;
  /// The last earlier receives that write the same blocks.
  std::vector<std::size_t> receives;

  [[nodiscard]] bool any() const { return !sends.empty() || !receives.empty(); }
};

/// One entry per receive of the step.
[[nodiscard]] std::vector<MscclConflicts> find_msccl_conflicts(const ScheduleStep& step);

}  // namespace lockstep
