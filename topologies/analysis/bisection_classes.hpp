#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "topologies/graph/cluster_data.hpp"

namespace lockstep {

/// Which half of the ranks a vertex class belongs to.
enum class Half : std::uint8_t { none, lower, upper };

/// A cluster's vertices with those merged that moves of equal nodes and blocks within one half of
/// the ranks take to each other. Between the halves as much flows as in the cluster: a flow there,
/// averaged over the moves, is one here, and a flow here is spread evenly over what was merged.
struct BisectionClasses {
  static constexpr std::int64_t kMost = std::int64_t{1} << 61U;  // sums stay at this

  std::vector<Half> half;                                                      // per class
  std::vector<std::int64_t> reach;                                             // bytes per second
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> capacities;  // likewise
};

[[nodiscard]] BisectionClasses bisection_classes(const Cluster& cluster);

}  // namespace lockstep
