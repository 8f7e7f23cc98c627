#pragma once

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Base of most algorithms: n ranks that all hold data, and a fixed number of blocks.
class BlockSchedule : public Schedule {
 public:
  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] std::int64_t blocks() const override { return blocks_; }

 protected:
  explicit BlockSchedule(int n) : BlockSchedule(n, n) {}
  BlockSchedule(int n, std::int64_t blocks) : n_{n}, blocks_{blocks} {}

  [[nodiscard]] int n() const { return n_; }
  [[nodiscard]] Chunk whole() const { return {Buffer::data, 0, blocks_}; }
  /// The rank `distance` positions ahead in the cycle of n. Requires 0 <= distance <= n.
  [[nodiscard]] int ahead(int rank, int distance) const {
    return distance < n_ - rank ? rank + distance : rank - (n_ - distance);
  }
  [[nodiscard]] int behind(int rank, int distance) const { return ahead(rank, n_ - distance); }

 private:
  int n_;
  std::int64_t blocks_;
};

}  // namespace lockstep
