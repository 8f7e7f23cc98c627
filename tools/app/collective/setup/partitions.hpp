#pragma once

#include <vector>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/bounds/partition.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep::app {

/// Partitions of a cluster that bound a collective over all its ranks and its first
/// `auxiliary_ranks` auxiliary ranks: into single endpoints, into the lower and upper half of the
/// ranks, and into nodes if there are several. Bandwidths are those of `network`, lowered from the
/// cluster; with port limits only (alpha-beta), only edges made of ports count.
[[nodiscard]] std::vector<Partition> partitions_of(const Cluster& cluster, const Network& network,
                                                   NetworkModel model, int auxiliary_ranks);

}  // namespace lockstep::app
