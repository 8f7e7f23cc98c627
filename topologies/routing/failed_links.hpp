#pragma once

#include <map>
#include <vector>

#include "topologies/graph/fabric_ports.hpp"
#include "topologies/routing/node_routes.hpp"

namespace lockstep {

/// Failures inside one copy of the node.
struct NodeFailures {
  std::vector<bool> links;  // of the node, true if failed; empty: none
  ClosedTerminals closed;

  friend auto operator<=>(const NodeFailures&, const NodeFailures&) = default;
};

/// The failed links of a cluster, by location. Internal.
struct FailedLinks {
  std::map<std::size_t, NodeFailures> nodes;        // by copy
  std::map<std::size_t, std::vector<bool>> planes;  // links between switches, true if failed
};

[[nodiscard]] FailedLinks failed_links_of(const Cluster& cluster, const FabricPorts& ports);

}  // namespace lockstep
