#pragma once

#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {

/// Kernels with more rows, columns, tokens or experts than a team of a GPU takes at a time, and not
/// a multiple of it.
[[nodiscard]] GradientCases large_cases();

}  // namespace lockstep
