#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/schedule/schedule.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep {

/// Consecutive equal steps with ends [first_end, last_end) of a plan.
struct StepRun {
  std::int64_t steps = 0;
  std::uint32_t first_end = 0;
  std::uint32_t last_end = 0;
};
/// Lane of a member: runs [first_run, last_run) of a plan.
struct PlannedLane {
  std::uint32_t member = 0;
  std::uint32_t first_run = 0;
  std::uint32_t last_run = 0;
};

/// Reads lanes of a schedule, which must outlive it, as runs of equal steps: those of a phase once.
class LaneRuns {
 public:
  explicit LaneRuns(const Schedule& schedule) : schedule_{schedule}, phases_{schedule.phases()} {}

  /// Calls add(step, how many of it) for each run, in order, until it returns false: then false.
  template <typename Add>
  [[nodiscard]] bool read(std::uint32_t member, std::uint32_t lane, const Add& add) {
    const int rank = static_cast<int>(member);
    const int index = static_cast<int>(lane);
    const std::int64_t steps = schedule_.steps(rank, index);
    for (std::int64_t at = first_step(schedule_, rank, index); at < steps;) {
      const std::int64_t equal = std::min(steps - at, equal_from(at));
      step_.clear();
      schedule_.step(rank, index, at, step_);
      if (!add(step_, equal)) return false;
      at += equal;
    }
    return true;
  }

 private:
  /// How many steps from this one on repeat it, itself included.
  [[nodiscard]] std::int64_t equal_from(std::int64_t step) const {
    for (const Phase& phase : phases_)
      if (phase.first <= step && step < phase.first + phase.count)
        return phase.first + phase.count - step;
    return 1;
  }

  const Schedule& schedule_;
  std::vector<Phase> phases_;
  ScheduleStep step_;
};

}  // namespace lockstep
