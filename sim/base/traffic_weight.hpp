#pragma once

#include <cstdint>

namespace lockstep {

/// Share of a link that a transfer gets, relative to the other transfers on it: two of weight 2 and
/// one of weight 1 get 2/5, 2/5 and 1/5 of a link that limits all three.
using TrafficWeight = std::uint16_t;
inline constexpr TrafficWeight kMostTrafficWeight = 100;

}  // namespace lockstep
