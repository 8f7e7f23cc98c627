#pragma once

#include <span>

#include "topologies/in_network/switch_forest.hpp"
#include "topologies/routing/lower.hpp"

namespace lockstep {

/// Lowers a cluster with the switches of the forests as additional endpoints. Routes exist between
/// a node of a forest and its parent, in both directions: between a rank and a switch in its node
/// over its NVLink, between a rank and its leaf over the NIC of its rail, between two switches over
/// their cables (split over several). There are no other routes to switches; everything else is as
/// in lower().
/// A switch has no message overhead and reduces at the rate of its links. The endpoints of the
/// forests must follow the cluster's and one another, in order.
[[nodiscard]] Network lower_with_switches(const Cluster& cluster,
                                          std::span<const SwitchForest> forests,
                                          const Endpoint& endpoint = {},
                                          RoutePolicy policy = RoutePolicy::automatic,
                                          std::uint64_t seed = 0);

}  // namespace lockstep
