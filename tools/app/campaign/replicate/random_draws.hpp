#pragma once

#include <cstdint>
#include <string_view>

#include "sim/execute/kernels/random_bits.hpp"

/// Random numbers of campaigns. Every one is a function of (seed, purpose, replicate, ...), so that
/// campaigns with the same seed share them (common random numbers) and threads do not matter.
namespace lockstep::app {

/// ln(x) for x > 0 by exact operations and basic arithmetic, so that it is the same on every
/// machine; within 2 units in the last place.
[[nodiscard]] double portable_log(double x);

/// Exponentially distributed, mean 1.
[[nodiscard]] double exponential(std::uint64_t bits);

/// Key of the draws with this purpose.
[[nodiscard]] constexpr std::uint64_t draw_key(std::uint64_t seed, std::string_view purpose) {
  return mixed(mixed(0, seed), purpose);
}

}  // namespace lockstep::app
