#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "topologies/graph/cluster.hpp"
#include "topologies/routing/routing.hpp"

/// Effect of modified links on the routes between ranks.
namespace lockstep {

struct Rerouted {
  std::int64_t pairs = 0;  // ordered pairs of ranks
  std::int64_t moved = 0;  // rerouted
  std::int64_t over = 0;   // unchanged, but across a modified link
  std::optional<std::pair<EndpointId, EndpointId>> first_moved{};
  std::optional<std::pair<EndpointId, EndpointId>> first_over{};
};

inline constexpr int kMostReroutedRanks = 256;  // pairs of this many ranks take milliseconds

/// Compares routes before and after link changes. Empty without changes or above kMostReroutedRanks
/// ranks. Requires a route for every pair.
[[nodiscard]] std::optional<Rerouted> rerouted(const Cluster& cluster, RoutePolicy policy,
                                               std::uint64_t seed);

/// "30 of 240 rank-to-rank routes rerouted, the first from node0/gpu3 to node1/gpu0; 8 of 240
/// rank-to-rank routes unchanged but cross modified links, the first from ..."
[[nodiscard]] std::string describe(const Rerouted& rerouted, const Cluster& cluster);

}  // namespace lockstep
