#pragma once

#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// n parallel binomial trees, one per block: in the tree of block b, the rank v ahead of rank b is
/// position v. Edges of equal length connect the same two ranks in all trees and share one message.
class ParallelTrees {
 public:
  explicit ParallelTrees(int n) : n_{n} {}

  /// The blocks whose trees connect `rank`, as the parent, with the rank `distance` ahead (a power
  /// of two): those of rank, rank - 2*distance, rank - 4*distance, ... within the trees' size.
  [[nodiscard]] std::vector<Chunk> blocks(int rank, int distance) const {
    std::vector<Chunk> blocks;
    int block = rank;
    for (int position = 0; position < n_ - distance; position += 2 * distance) {
      blocks.push_back({Buffer::data, block, 1});
      block -= 2 * distance;
      if (block < 0) block += n_;
    }
    return blocks;
  }

 private:
  int n_;
};

}  // namespace lockstep
