#pragma once

#include <string>

#include "topologies/graph/cluster.hpp"

/// Nodes of a cluster with their actual sizes. Nodes are numbered from 0 in rank order, and ranks
/// of a node are consecutive. Cluster::gpus_per_node() is a node's GPUs (of which only the first
/// are ranks if a single node is partly used); if nodes differ in size, the greatest common divisor
/// of their ranks: each run of that many ranks from rank 0 lies in one node.
namespace lockstep {

/// Whether all nodes have the same number of ranks.
[[nodiscard]] bool has_equal_nodes(const Cluster& cluster);
[[nodiscard]] int node_of(const Cluster& cluster, EndpointId rank);
[[nodiscard]] int ranks_of_node(const Cluster& cluster, int node);
[[nodiscard]] int first_rank_of_node(const Cluster& cluster, int node);
/// Ranks of the smallest and the largest node.
[[nodiscard]] int smallest_node(const Cluster& cluster);
[[nodiscard]] int largest_node(const Cluster& cluster);
/// CPUs of a node whose GPUs have coherent links to them, such as NVLink-C2C; 0: its CPUs are one
/// host.
[[nodiscard]] int coherent_cpus(const Cluster& cluster);
/// Ranks per node in words: "8", or "1 to 7" if nodes differ in size.
[[nodiscard]] std::string node_sizes_text(const Cluster& cluster);

/// Whether there is no such vertex, or link: of racks with different numbers of trays every one has
/// the ids of the largest, and routes never lead to what it lacks.
[[nodiscard]] bool is_absent(const Cluster& cluster, VertexId vertex);
[[nodiscard]] bool is_absent_link(const Cluster& cluster, LinkId link);

/// Latency that the transport of the NICs adds to a message between nodes, beyond the links it
/// crosses. Messages in flight overlap in it, so that it belongs to no link. 0: none.
[[nodiscard]] Duration transport_latency(const Cluster& cluster);

}  // namespace lockstep
