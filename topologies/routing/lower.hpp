#pragma once

#include "sim/network/network.hpp"
#include "topologies/graph/cluster.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep {

/// The cluster as the engine sees it: per link the bandwidth that it carries (nominal times
/// efficiency), its latency, and whether it is a port (touches a GPU, a host or a NIC). Link ids
/// and end points are the cluster's own; all end points are alike, as `endpoint` says.
[[nodiscard]] Network lower(const Cluster& cluster, const Endpoint& endpoint = {},
                            RoutePolicy policy = RoutePolicy::automatic, std::uint64_t seed = 0);

}  // namespace lockstep
