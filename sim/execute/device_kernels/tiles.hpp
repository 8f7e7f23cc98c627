#pragma once

#include <cstdint>

#include "sim/execute/device_kernels/values.hpp"

/// Matrix tiles in a team's scratch memory, and GEMMs on them.
namespace lockstep::kernels {

/// Odd row strides, so that lanes reading one column of adjacent rows use different banks of shared
/// memory.
[[nodiscard]] LOCKSTEP_BOTH constexpr std::int64_t tile_step(std::int64_t width) {
  return width | 1;
}

template <class Real>
struct Tile {
  Real* data = nullptr;
  int step = 1;

  [[nodiscard]] LOCKSTEP_BOTH Real& at(int row, int column) const {
    return data[row * step + column];
  }
};

/// Allocates a team's scratch memory.
template <class Real>
class Scratch {
 public:
  LOCKSTEP_BOTH explicit Scratch(Real* first) : next_{first} {}
  [[nodiscard]] LOCKSTEP_BOTH Real* numbers(std::int64_t count) {
    Real* out = next_;
    next_ += count;
    return out;
  }
  [[nodiscard]] LOCKSTEP_BOTH Tile<Real> tile(std::int64_t rows, std::int64_t width) {
    const std::int64_t step = tile_step(width);
    return {numbers(rows * step), static_cast<int>(step)};
  }

 private:
  Real* next_;
};

/// Loads rows of a buffer into a tile; row i starts at place(i).
template <class Real, class Team, class From, class Place>
LOCKSTEP_BOTH void bring(Team& team, const Tile<Real>& to, const From& from, int rows, int width,
                         const Place& place) {
  for (int i = static_cast<int>(team.lane()); i < rows * width;
       i += static_cast<int>(team.lanes())) {
    const int row = i / width;
    to.at(row, i % width) = load<Real>(from, place(row) + i % width);
  }
}

/// Calls take(i, j, sum over x of a(i, x) b(x, j)) for an m x n result; each lane computes 4 x 4
/// blocks to reuse loaded values.
template <class Real, class Team, class Left, class Right, class Take>
LOCKSTEP_BOTH void multiply(Team& team, int m, int n, int k, const Left& a, const Right& b,
                            const Take& take) {
  constexpr int kSide = 4;
  const int down = (m + kSide - 1) / kSide;
  const int across = (n + kSide - 1) / kSide;
  for (int i = static_cast<int>(team.lane()); i < down * across;
       i += static_cast<int>(team.lanes())) {
    int row[kSide];
    int column[kSide];
    Real sums[kSide][kSide] = {};
    LOCKSTEP_UNROLL
    for (int r = 0; r < kSide; ++r) {  // beyond the edge: the last, whose sum nobody takes
      row[r] = i / across + r * down < m ? i / across + r * down : m - 1;
      column[r] = i % across + r * across < n ? i % across + r * across : n - 1;
    }
    for (int x = 0; x < k; ++x) {
      Real left[kSide];
      Real right[kSide];
      LOCKSTEP_UNROLL
      for (int r = 0; r < kSide; ++r) left[r] = a(row[r], x);
      LOCKSTEP_UNROLL
      for (int c = 0; c < kSide; ++c) right[c] = b(x, column[c]);
      LOCKSTEP_UNROLL
      for (int r = 0; r < kSide; ++r) {
        LOCKSTEP_UNROLL
        for (int c = 0; c < kSide; ++c) sums[r][c] += left[r] * right[c];
      }
    }
    LOCKSTEP_UNROLL
    for (int r = 0; r < kSide; ++r) {
      LOCKSTEP_UNROLL
      for (int c = 0; c < kSide; ++c) {
        const bool inside = i / across + r * down < m && i % across + c * across < n;
        if (inside) take(row[r], column[c], sums[r][c]);
      }
    }
  }
}

}  // namespace lockstep::kernels
