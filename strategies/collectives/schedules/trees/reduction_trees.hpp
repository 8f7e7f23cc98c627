#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// Trees of switches over ranks. Block i belongs to the ranks at position i of their nodes.
class ReductionTrees {
 public:
  /// `parents`: as in RankLayout.
  ReductionTrees(int n, int per_node, std::vector<int> parents);

  [[nodiscard]] int ranks() const { return n_; }
  [[nodiscard]] int switches() const { return static_cast<int>(std::ssize(above_)) - n_; }
  [[nodiscard]] int per_node() const { return per_node_; }
  /// -1 for a root. Tree nodes below n are ranks.
  [[nodiscard]] int above(int node) const { return above_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] std::span<const int> below(int node) const;
  /// Runs of blocks exchanged between a tree node and its parent, ascending.
  [[nodiscard]] std::span<const Chunk> shares(int node) const;
  /// Maximum number of switches between a rank and its root.
  [[nodiscard]] int depth() const;
  /// Why a reduction is impossible: a rank without a switch, or ranks of one position in several
  /// trees.
  [[nodiscard]] std::optional<std::string> problem() const;

 private:
  [[nodiscard]] int root_of(int node) const;
  void find_shares();

  int n_;
  int per_node_;
  std::vector<int> above_;
  std::vector<std::size_t> first_below_;  // per switch, with an end marker
  std::vector<int> below_;
  std::vector<std::vector<Chunk>> shares_;  // per tree node
};

/// Those of the fabric, with the input's nodes.
[[nodiscard]] ReductionTrees reduction_trees_of(const AlgorithmInput& input);
/// Why ranks of unequal nodes, or below no common switch, have none; none where they have.
[[nodiscard]] std::optional<std::string> reduction_trees_refusal(const AlgorithmInput& input);

/// All-reduce up the trees and down again, with one message per child and run of blocks; as many
/// blocks as ranks per node. Every rank and switch has one lane each for receiving from below,
/// sending up, receiving from above and sending down.
[[nodiscard]] SchedulePtr make_reduction_trees(const ReductionTrees& trees);

}  // namespace lockstep
