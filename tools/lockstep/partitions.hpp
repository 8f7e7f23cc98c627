#pragma once

#include <vector>

#include "strategies/collectives/partition.hpp"
#include "topologies/cluster.hpp"

namespace lockstep::cli {

/// Cuts of a cluster that bound a collective over all its ranks and its first `helpers` helpers:
/// into single end points, into the lower and the upper half of the ranks, and into nodes where
/// there are several.
[[nodiscard]] std::vector<Partition> partitions_of(const Cluster& cluster, int helpers);

}  // namespace lockstep::cli
