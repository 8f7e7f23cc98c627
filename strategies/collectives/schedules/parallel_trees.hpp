#pragma once

#include <vector>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// n binomial trees at once, one per block: in that of block b, the rank v places ahead of rank b
/// is position v. Edges of one length join the same two ranks in all trees, so that one message
/// carries what all of them need.
class ParallelTrees {
 public:
  explicit ParallelTrees(int n) : n_{n} {}

  /// The blocks whose trees join `rank`, as the parent, and the rank `distance` ahead, a power of
  /// two: those of rank, rank - 2*distance, rank - 4*distance, ... as far as the trees reach.
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
