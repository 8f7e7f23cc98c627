#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/network/network.hpp"
#include "strategies/collectives/algorithm.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Distribution of a communicator's members over the nodes of a cluster.
struct MemberPlacement {
  int ranks = 0;
  int nodes = 0;          // with members
  int most_per_node = 0;  // on the node with most members
  bool equal_nodes = true;
  /// Lengths of runs of consecutive members on one node; a single entry if all are equal.
  std::vector<int> runs{};
  /// Members on the first of the fullest nodes, in order, and on the next node (the first one after
  /// the last); empty if there is none.
  std::vector<EndpointId> fullest{};
  std::vector<EndpointId> next{};
  EndpointId first = 0;       // member 0
  EndpointId node_further{};  // the first member on another node than member 0, else member 1

  /// Consecutive members on a node; 1 if runs differ.
  [[nodiscard]] int per_node() const { return runs.size() == 1 ? runs.front() : 1; }
};

/// Placement of ranks in the communicator's order. Requires at least one.
[[nodiscard]] MemberPlacement placement_of(const Cluster& cluster,
                                           std::span<const EndpointId> members);
/// Placement of all ranks of the cluster.
[[nodiscard]] MemberPlacement placement_of(const Cluster& cluster);

/// The rank layout of a placement: nodes only, without switches, rings or dimensions.
[[nodiscard]] RankLayout layout_of(const MemberPlacement& placement);

/// Cost of one hop from the first member to the first on another node (to the second if all share a
/// node): latencies and sender overhead, bandwidth of a transfer alone on its route (split routes
/// use a part of each link), and reduction rate. Used to choose chunk counts. Empty with one member
/// or without a route.
[[nodiscard]] std::optional<AlphaBeta> hop_of(const Network& network,
                                              const MemberPlacement& placement);

}  // namespace lockstep
