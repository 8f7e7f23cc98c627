#pragma once

#include <span>

#include "topologies/in_network/switch_forest.hpp"
#include "topologies/routing/lower.hpp"

namespace lockstep {

/// The cluster as the engine sees it, with the switches of the forests as further end points. They
/// answer between a node of a forest and its parent, both ways: a rank and a switch in its node by
/// its NVLink; a rank and its leaf over the NIC of its rail; two switches by their cables (split
/// over several). Between others of them there is no way; all else is as lower() has it.
///
/// A switch costs no overhead per message and reduces at the rate of its links. The end points of
/// the forests must follow the cluster's and one another, in order.
[[nodiscard]] Network lower_with_switches(const Cluster& cluster,
                                          std::span<const SwitchForest> forests,
                                          const Endpoint& endpoint = {},
                                          RoutePolicy policy = RoutePolicy::automatic,
                                          std::uint64_t seed = 0);

}  // namespace lockstep
