#pragma once

namespace lockstep {

/// Distance of Swing's step s: (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, ..., added on even ranks
/// and subtracted on odd ones (De Sensi et al. 2024, section 3).
[[nodiscard]] constexpr int swing_distance(int step) {
  int distance = 1;
  for (int s = 0, jump = -2; s < step; ++s, jump *= -2) distance += jump;
  return distance;
}

/// The peer of `rank` in that step; `size` must be a power of two.
[[nodiscard]] constexpr int swing_peer(int rank, int step, int size) {
  const int distance = swing_distance(step);
  return (rank + (rank % 2 == 0 ? distance : -distance)) & (size - 1);
}

}  // namespace lockstep
