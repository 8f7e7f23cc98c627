#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/network/network.hpp"
#include "strategies/collectives/algorithm.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// How the members of a communicator lie on the nodes of a cluster.
struct MemberPlacement {
  int ranks = 0;
  int nodes = 0;          // that hold members
  int most_per_node = 0;  // members of the node that holds most
  bool equal_nodes = true;
  /// Lengths of runs of consecutive members on one node: one entry where all are as long.
  std::vector<int> runs{};
  /// Members on the first of the fullest nodes, in order, and on the node that follows it (the
  /// first one where it is the last); empty where there is no other.
  std::vector<EndpointId> fullest{};
  std::vector<EndpointId> next{};
  EndpointId first = 0;       // member 0
  EndpointId node_further{};  // the first member on another node than member 0, else member 1

  /// Consecutive members that share a node; 1 where their runs differ.
  [[nodiscard]] int per_node() const { return runs.size() == 1 ? runs.front() : 1; }
};

/// Of ranks of the cluster, in the communicator's order; at least one.
[[nodiscard]] MemberPlacement placement_of(const Cluster& cluster,
                                           std::span<const EndpointId> members);
/// Of all ranks of the cluster.
[[nodiscard]] MemberPlacement placement_of(const Cluster& cluster);

/// What an algorithm is given of it: nodes, and no switches, rings or dimensions.
[[nodiscard]] RankLayout layout_of(const MemberPlacement& placement);

/// What one hop costs, from the first member to the first on another node (to the second where all
/// share one): latencies and the sender's overhead, the bandwidth of a transfer that has its route
/// to itself (a split one takes a part of each link), and the rate of reduction. What chunk counts
/// are chosen by. Empty for one member, and where there is no route.
[[nodiscard]] std::optional<AlphaBeta> hop_of(const Network& network,
                                              const MemberPlacement& placement);

}  // namespace lockstep
