#pragma once

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// A binary tree over 0 .. n-1 in symmetric order: odd ranks are leaves, and a rank's subtree is a
/// run of ranks round it. Rank 0 is the root and has one child, the largest power of two below n.
/// Depth ceil(lg n) (Sanders, Speck and Traeff 2009, section 3; as NCCL builds it).
class InOrderTree {
 public:
  explicit InOrderTree(int n) : n_{n} {}
  /// -1: none.
  [[nodiscard]] int parent(int rank) const;
  [[nodiscard]] int left(int rank) const;
  [[nodiscard]] int right(int rank) const;

 private:
  int n_;
};

/// All-reduce by reducing up that tree and broadcasting down it, both at once, chunk after chunk:
/// in a step a rank passes on one chunk and takes the next. Reduce and broadcast have a lane each;
/// the root, where one becomes the other, does both in one.
[[nodiscard]] SchedulePtr make_pipelined_tree(int n, std::int64_t chunks);

}  // namespace lockstep
