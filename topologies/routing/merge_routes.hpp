#pragma once

#include <vector>

#include "sim/network/network.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// One route split over all paths of several between the same two end points, all equally long: the
/// paths share evenly, hops are in order of distance from the sender.
[[nodiscard]] Route merge_routes(const Cluster& cluster, const std::vector<Route>& routes);

}  // namespace lockstep
