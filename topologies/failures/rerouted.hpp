#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "topologies/graph/cluster.hpp"
#include "topologies/routing/routing.hpp"

/// What links that are slower, later or gone do to the routes between ranks.
namespace lockstep {

struct Rerouted {
  std::int64_t pairs = 0;  // of two ranks, one sending
  std::int64_t moved = 0;  // take another way than in the cluster as it was built
  std::int64_t over = 0;   // keep theirs, and a link on it has changed
  std::optional<std::pair<EndpointId, EndpointId>> first_moved{};
  std::optional<std::pair<EndpointId, EndpointId>> first_over{};
};

inline constexpr int kMostReroutedRanks = 256;  // whose pairs are looked at in milliseconds

/// Compares the routes of a cluster with changed links to those it was built with. Nothing where no
/// link has changed or there are more than kMostReroutedRanks ranks. Every pair has a route.
[[nodiscard]] std::optional<Rerouted> rerouted(const Cluster& cluster, RoutePolicy policy,
                                               std::uint64_t seed);

/// "30 of 240 rank-to-rank routes rerouted, the first from node0/gpu3 to node1/gpu0; 8 of 240
/// rank-to-rank routes unchanged but cross modified links, the first from ..."
[[nodiscard]] std::string describe(const Rerouted& rerouted, const Cluster& cluster);

}  // namespace lockstep
