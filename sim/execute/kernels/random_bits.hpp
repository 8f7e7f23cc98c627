#pragma once

#include <cstdint>
#include <string_view>

#include "sim/base/hash.hpp"

/// Counter-based random numbers: a function of a seed and a position, so the order of reading does
/// not matter.
namespace lockstep {

/// The b-th number, counted from 0, that SplitMix64 draws from seed `a`.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return splitmix64(a + kGoldenGamma * b);
}

[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t a, std::string_view text) {
  for (const char c : text) a = mixed(a, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  return a;
}

/// In [0, 1), by the upper 53 bits.
[[nodiscard]] constexpr double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11U) / 9007199254740992.0;
}

}  // namespace lockstep
