#pragma once

#include <optional>

#include "strategies/collectives/schedules/ceil_lg.hpp"

namespace lockstep {

/// The binomial tree over n positions with its root at 0. Down the tree, round r joins positions
/// that lie 2^(rounds-1-r) apart, so that the first child is the furthest and has the most below
/// it. Up the tree the rounds run backwards.
class BinomialTree {
 public:
  /// The child's subtree is the positions [child, end).
  struct Edge {
    int parent = 0;
    int child = 0;
    int end = 0;
    [[nodiscard]] int below() const { return end - child; }
  };

  explicit BinomialTree(int n) : n_{n}, rounds_{ceil_lg(n)} {}

  [[nodiscard]] int rounds() const { return rounds_; }
  /// The edge that `position` is an end of in round `round` down the tree; none: it rests.
  [[nodiscard]] std::optional<Edge> edge(int position, int round) const {
    const int distance = 1 << (rounds_ - 1 - round);
    const int child = position | distance;
    if ((position & (distance - 1)) != 0 || child >= n_) return std::nullopt;
    return Edge{child ^ distance, child, distance < n_ - child ? child + distance : n_};
  }

 private:
  int n_;
  int rounds_;
};

}  // namespace lockstep
