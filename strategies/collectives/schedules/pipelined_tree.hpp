#pragma once

#include <array>

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// A binary tree over 0 .. n-1 in symmetric order: odd numbers are leaves, and what hangs below a
/// number is a run of numbers round it. 0 is the root and has one child, the largest power of two
/// below n. Depth ceil(lg n) (Sanders, Speck and Traeff 2009; as NCCL builds it).
class InOrderTree {
 public:
  explicit InOrderTree(int n) : n_{n} {}
  /// -1: none.
  [[nodiscard]] int parent(int number) const;
  [[nodiscard]] int left(int number) const;
  [[nodiscard]] int right(int number) const;

 private:
  int n_;
};

/// That tree over nodes; inside each a chain hangs below its first place. Where there is only one
/// node, the tree over its places.
class NodeTree {
 public:
  NodeTree(int n, int per_node);
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int per_node() const { return per_node_; }
  /// -1: none.
  [[nodiscard]] int parent(int place) const;
  [[nodiscard]] std::array<int, 3> children(int place) const;
  /// Of slow steps: those from node to node, and one for a chain.
  [[nodiscard]] int depth() const;

 private:
  int per_node_;
  int nodes_;
  InOrderTree tree_;
};

/// All-reduce by reducing up the tree and broadcasting down it, both at once, chunk after chunk: in
/// a step a rank passes on one chunk and takes the next. Reduce and broadcast have a lane each; the
/// root, where one becomes the other, does both in one.
[[nodiscard]] SchedulePtr make_pipelined_tree(const NodeTree& tree, std::int64_t chunks);

}  // namespace lockstep
