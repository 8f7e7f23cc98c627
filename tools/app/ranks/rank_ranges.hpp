#pragma once

#include <utility>
#include <vector>

namespace lockstep::app {

/// Ranks from the first to the second of each, both included; ascending.
using RankRanges = std::vector<std::pair<int, int>>;

/// `rank` must be above all that are in them.
inline void add_rank(int rank, RankRanges& to) {
  if (!to.empty() && to.back().second + 1 == rank) {
    to.back().second = rank;
  } else {
    to.emplace_back(rank, rank);
  }
}

}  // namespace lockstep::app
