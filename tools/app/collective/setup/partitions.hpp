#pragma once

#include <vector>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/bounds/partition.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep::app {

/// Cuts of a cluster that bound a collective over all its ranks and its first `auxiliary_ranks`
/// auxiliary ranks: into single end points, into the lower and the upper half of the ranks, and
/// into nodes where there are several. Links carry what they do in `network`, which was made of the
/// cluster; where only ports limit (alpha-beta), only edges made of ports count.
[[nodiscard]] std::vector<Partition> partitions_of(const Cluster& cluster, const Network& network,
                                                   NetworkModel model, int auxiliary_ranks);

}  // namespace lockstep::app
