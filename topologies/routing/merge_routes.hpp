#pragma once

#include <vector>

#include "sim/network/network.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Combines several routes of equal length between the same two endpoints into one route split
/// evenly over all their paths; hops are in order of distance from the sender.
[[nodiscard]] Route merge_routes(const Cluster& cluster, const std::vector<Route>& routes);
/// The same of outlines (Router::outline()), whose hops are in no order.
[[nodiscard]] Route merge_outlines(const std::vector<Route>& routes);

}  // namespace lockstep
