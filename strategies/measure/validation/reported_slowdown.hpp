#pragma once

#include "strategies/measure/validation/measured.hpp"

namespace lockstep {

/// Slowdown of the machine that a run's notes report, as a fraction: "1-5 % slow" gives the
/// midpoint, 0.03; 0 if they report none.
[[nodiscard]] double reported_slowdown(const MeasuredRun& run);

}  // namespace lockstep
