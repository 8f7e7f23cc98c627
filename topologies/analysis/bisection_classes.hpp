#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "topologies/graph/cluster_data.hpp"

namespace lockstep {

/// The half of the ranks to which a vertex class belongs.
enum class Half : std::uint8_t { none, lower, upper };

/// A cluster's vertices, merged into classes under permutations of equal nodes and blocks within
/// one half of the ranks. The maximum flow between the halves is unchanged: averaging a flow over
/// the permutations gives one between classes, and vice versa.
struct BisectionClasses {
  static constexpr std::int64_t kMost = std::int64_t{1} << 61U;  // sums saturate here

  std::vector<Half> half;                                                      // per class
  std::vector<std::int64_t> reach;                                             // bytes per second
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> capacities;  // bytes per second
};

[[nodiscard]] BisectionClasses bisection_classes(const Cluster& cluster);

}  // namespace lockstep
