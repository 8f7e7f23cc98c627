#pragma once

#include "sim/base/units.hpp"
#include "strategies/collectives/cost.hpp"

namespace lockstep {

/// Work divided by rate, rounded down, for lower bounds.
[[nodiscard]] inline Duration floor_time(Int128 work, UInt128 rate_steps) {
  const UInt128 ps = static_cast<UInt128>(work) / rate_steps;
  if (ps > static_cast<UInt128>(INT64_MAX)) detail::throw_overflow("Duration");
  return Duration::picoseconds(static_cast<std::int64_t>(ps));
}

}  // namespace lockstep
