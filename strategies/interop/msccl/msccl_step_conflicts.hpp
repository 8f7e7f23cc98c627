#pragma once

#include <cstddef>
#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// What a receive of a step must not overtake once the step's transfers run side by side, as
/// positions in the step's lists.
struct MscclConflicts {
  /// That send from where it writes, without those that the receives below have to wait for.
  std::vector<std::size_t> sends;
  /// Earlier ones of the step that write there too: the last ones to do so.
  std::vector<std::size_t> receives;

  [[nodiscard]] bool any() const { return !sends.empty() || !receives.empty(); }
};

/// For every receive of the step.
[[nodiscard]] std::vector<MscclConflicts> find_msccl_conflicts(const ScheduleStep& step);

}  // namespace lockstep
