#pragma once

#include <cstdint>

namespace lockstep {

/// A step of one lane of one rank. With one lane, the step is the round.
struct ScheduleStepIndex {
  int rank = 0;
  int lane = 0;
  std::int64_t step = 0;

  friend bool operator==(const ScheduleStepIndex&, const ScheduleStepIndex&) = default;
};

}  // namespace lockstep
