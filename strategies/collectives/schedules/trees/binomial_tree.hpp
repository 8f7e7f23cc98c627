#pragma once

#include <optional>

#include "strategies/collectives/schedules/ceil_lg.hpp"

namespace lockstep {

/// The binomial tree over n positions with root 0. Downward, round r connects positions
/// 2^(rounds-1-r) apart, so the first child is the furthest and has the largest subtree. Upward,
/// rounds run in reverse.
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
  /// The edge of `position` in downward round `round`; none: idle.
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
