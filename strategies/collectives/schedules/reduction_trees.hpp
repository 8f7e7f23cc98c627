#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// Trees of switches over ranks, by who is below whom. Block i belongs to the ranks at place i of
/// their nodes.
class ReductionTrees {
 public:
  /// `parents` as RankLayout has them.
  ReductionTrees(int n, int per_node, std::vector<int> parents);

  [[nodiscard]] int ranks() const { return n_; }
  [[nodiscard]] int switches() const { return static_cast<int>(std::ssize(above_)) - n_; }
  [[nodiscard]] int per_node() const { return per_node_; }
  /// -1: none. Nodes of the tree below n are ranks.
  [[nodiscard]] int above(int node) const { return above_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] std::span<const int> below(int node) const;
  /// Runs of the blocks that pass between a node and the one above it, ascending.
  [[nodiscard]] std::span<const Chunk> shares(int node) const;
  /// Switches that a rank's data passes on its way up, the most of any.
  [[nodiscard]] int depth() const;
  /// Why a sum cannot come about: a rank without a switch, ranks of one place in several trees.
  [[nodiscard]] std::optional<std::string> problem() const;

 private:
  [[nodiscard]] int root_of(int node) const;
  void find_shares();

  int n_;
  int per_node_;
  std::vector<int> above_;
  std::vector<std::size_t> first_below_;  // per switch, and one past the last
  std::vector<int> below_;
  std::vector<std::vector<Chunk>> shares_;  // per node
};

/// Up the trees with addition and down again, one message per child and run of blocks; as many
/// blocks as ranks per node, all ranks and switches taking part. Everyone has a lane each for
/// receiving from below, sending up, receiving from above and sending down.
[[nodiscard]] SchedulePtr make_reduction_trees(const ReductionTrees& trees);

}  // namespace lockstep
