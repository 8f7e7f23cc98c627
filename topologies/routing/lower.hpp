#pragma once

#include "sim/network/network.hpp"
#include "topologies/graph/cluster.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep {

/// Lowers a cluster to the engine's network: per link the usable bandwidth (nominal times
/// efficiency), the latency, and whether it is a port (of a GPU, a host or a NIC). Link and
/// endpoint ids are the cluster's; all endpoints have the parameters `endpoint`.
[[nodiscard]] Network lower(const Cluster& cluster, const Endpoint& endpoint = {},
                            RoutePolicy policy = RoutePolicy::automatic, std::uint64_t seed = 0);

}  // namespace lockstep
