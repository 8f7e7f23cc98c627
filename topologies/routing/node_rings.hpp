#pragma once

#include <vector>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Cycles through all GPUs of a node along the NVLinks that join them directly, as many as there
/// are that share no NVLink: element i of a cycle is which of the node's GPUs is at its place i. A
/// link of twice the bandwidth of the slowest counts as two. Empty where a switch joins the GPUs,
/// where there is no such cycle, and for nodes of fewer than three GPUs or more than 16. What
/// NCCL's search comes to on such nodes: NCCL 2.30.7 src/graph/search.cc.
[[nodiscard]] std::vector<std::vector<int>> nvlink_rings(const Cluster& cluster, int node = 0);

}  // namespace lockstep
