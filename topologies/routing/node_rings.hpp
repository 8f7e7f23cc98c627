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
/// Paths through all of them over direct NVLinks, for rings over several such nodes; no two use a
/// link in the same direction. If every two of an even number are joined, as many as GPUs, which
/// begin at every GPU and use every link (zigzags, Walecki 1892); else each cycle both ways, opened
/// at a different GPU. Empty in the same cases.
[[nodiscard]] std::vector<std::vector<int>> nvlink_paths(const Cluster& cluster,
                                                         std::span<const EndpointId> gpus);
/// The cycles of all GPUs of a node.
[[nodiscard]] std::vector<std::vector<int>> nvlink_rings(const Cluster& cluster, int node = 0);

}  // namespace lockstep
