#pragma once

#include <span>
#include <vector>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// A maximum set of cycles through `gpus`, of one node, over direct NVLinks without sharing any:
/// element i of a cycle is the index of its i-th GPU. A link of twice the bandwidth of the slowest
/// counts as two. Empty if GPUs are connected by a switch, if there is no such cycle, and for fewer
/// than three or more than 16 GPUs. Equals the result of NCCL's search: NCCL 2.30.7
/// src/graph/search.cc.
[[nodiscard]] std::vector<std::vector<int>> nvlink_rings(const Cluster& cluster,
                                                         std::span<const EndpointId> gpus);
/// The same of all GPUs of a node.
[[nodiscard]] std::vector<std::vector<int>> nvlink_rings(const Cluster& cluster, int node = 0);

}  // namespace lockstep
