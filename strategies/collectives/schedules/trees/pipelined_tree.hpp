#pragma once

#include <array>

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// A binary tree over 0 .. n-1 in symmetric order: odd numbers are leaves, and every subtree is a
/// contiguous range. The root is 0; its only child is the largest power of two below n. Depth
/// ceil(lg n) (Sanders, Speck and Traeff 2009; as in NCCL).
class InOrderTree {
 public:
  explicit InOrderTree(int n) : n_{n} {}
  /// -1 for the root.
  [[nodiscard]] int parent(int number) const;
  [[nodiscard]] int left(int number) const;
  [[nodiscard]] int right(int number) const;

 private:
  int n_;
};

/// That tree over nodes, with a chain through each node below its first rank. With a single node,
/// the tree over its ranks.
class NodeTree {
 public:
  NodeTree(int n, int per_node);
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int per_node() const { return per_node_; }
  /// -1 for the root.
  [[nodiscard]] int parent(int place) const;
  [[nodiscard]] std::array<int, 3> children(int place) const;
  /// Number of slow steps: those between nodes, and one for a chain.
  [[nodiscard]] int depth() const;

 private:
  int per_node_;
  int nodes_;
  InOrderTree tree_;
};

/// All-reduce that reduces up the tree and broadcasts down it concurrently, pipelined in chunks.
/// Reduce and broadcast use one lane each, except that the root does both in one.
[[nodiscard]] SchedulePtr make_pipelined_tree(const NodeTree& tree, std::int64_t chunks);

}  // namespace lockstep
