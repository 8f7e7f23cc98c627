#pragma once

#include <map>
#include <vector>

#include "topologies/graph/fabric_ports.hpp"
#include "topologies/routing/node_routes.hpp"

namespace lockstep {

/// What one copy of the node has lost.
struct NodeFailures {
  std::vector<bool> links;  // of the node, marked where failed; empty: none
  ClosedTerminals closed;

  friend auto operator<=>(const NodeFailures&, const NodeFailures&) = default;
};

/// The links of a cluster that have failed, by where they are. Internal.
struct FailedLinks {
  std::map<std::size_t, NodeFailures> nodes;        // by copy
  std::map<std::size_t, std::vector<bool>> planes;  // links between switches, marked where failed
};

[[nodiscard]] FailedLinks failed_links_of(const Cluster& cluster, const FabricPorts& ports);

}  // namespace lockstep
