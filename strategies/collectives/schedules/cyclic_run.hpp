#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// `count` >= 1 consecutive blocks in a cycle of n: two pieces if they wrap around.
class CyclicRun {
 public:
  CyclicRun(Buffer buffer, int first, int count, int n) {
    if (count <= n - first) {
      pieces_[0] = {buffer, first, count};
    } else {
      pieces_[0] = {buffer, first, n - first};
      pieces_[1] = {buffer, 0, count - (n - first)};
      size_ = 2;
    }
  }

  [[nodiscard]] std::span<const Chunk> pieces() const { return std::span{pieces_}.first(size_); }

 private:
  std::array<Chunk, 2> pieces_{};
  std::size_t size_ = 1;
};

}  // namespace lockstep
