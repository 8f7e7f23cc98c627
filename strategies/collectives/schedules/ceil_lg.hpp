#pragma once

#include <bit>

namespace lockstep {

/// The least k with 2^k >= n, for n >= 1: the minimum number of rounds of a broadcast.
[[nodiscard]] constexpr int ceil_lg(int n) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)));
}

}  // namespace lockstep
