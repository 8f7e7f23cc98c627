#pragma once

#include <string>

#include "topologies/graph/cluster.hpp"

/// The nodes of a cluster as large as they are. Nodes are counted from 0 in the order of their
/// ranks, which are consecutive. Cluster::gpus_per_node() is a node's GPUs, of which the first
/// alone are ranks where one node is used in part; where nodes differ in size, it is the greatest
/// number that divides every node's ranks: runs of as many, counted from rank 0, lie in one node
/// each.
namespace lockstep {

/// Whether all nodes have equally many ranks.
[[nodiscard]] bool has_equal_nodes(const Cluster& cluster);
[[nodiscard]] int node_of(const Cluster& cluster, EndpointId rank);
[[nodiscard]] int ranks_of_node(const Cluster& cluster, int node);
[[nodiscard]] int first_rank_of_node(const Cluster& cluster, int node);
/// Ranks of the nodes that have fewest and most.
[[nodiscard]] int smallest_node(const Cluster& cluster);
[[nodiscard]] int largest_node(const Cluster& cluster);
/// Ranks of a node in words: "8", or "1 to 7" where nodes differ in size.
[[nodiscard]] std::string node_sizes_text(const Cluster& cluster);

}  // namespace lockstep
