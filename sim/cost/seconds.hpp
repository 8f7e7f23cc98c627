#pragma once

#include <cstdint>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"

namespace lockstep {

/// Rounds to the nearest picosecond, halves up. Throws OutOfRange above 106 days.
[[nodiscard]] inline Duration rounded(double seconds) {
  LOCKSTEP_CHECK(seconds >= 0);
  const double ps = seconds * 1e12 + 0.5;
  if (!(ps < 9.2e18)) detail::throw_overflow("Duration");
  return Duration::picoseconds(static_cast<std::int64_t>(ps));
}

}  // namespace lockstep
