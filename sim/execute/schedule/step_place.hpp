#pragma once

#include <cstdint>

namespace lockstep {

/// A step of one lane of one rank. With one lane, the step is the round.
struct StepPlace {
  int rank = 0;
  int lane = 0;
  std::int64_t step = 0;

  friend bool operator==(const StepPlace&, const StepPlace&) = default;
};

}  // namespace lockstep
