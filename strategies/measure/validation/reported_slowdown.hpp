#pragma once

#include "strategies/measure/validation/measured.hpp"

namespace lockstep {

/// By how much a run's own notes say that its machine was slower than such machines are: "1-5 %
/// slow" is 0.03, the middle of what they say; 0 where they say nothing of the kind.
[[nodiscard]] double reported_slowdown(const MeasuredRun& run);

}  // namespace lockstep
