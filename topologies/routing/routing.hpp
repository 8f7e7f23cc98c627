#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Selection among the best paths: rail first if the fabric has rails (over NVLink to the GPU on
/// the receiver's rail, through its NIC, directly to the receiver), else fewest hops, then least
/// latency. A rank uses the NIC of its own rail; traffic inside a node does not leave it.
enum class RoutePolicy : std::uint8_t {
  automatic,  // split evenly over all of them
  ecmp,       // one of them, by a hash of both ends and a seed
  shortest,   // one of them, with the lowest link id at every hop
};
inline constexpr std::array<std::string_view, 3> kRoutePolicyNames{"auto", "ecmp", "shortest"};

[[nodiscard]] std::optional<RoutePolicy> parse_route_policy(std::string_view text);

/// Hops of each path of a route; all paths have equally many.
[[nodiscard]] std::int64_t path_length(const Route& route);

/// The router of a cluster's endpoints. Thread-safe; memory does not grow with the pairs of ranks.
/// `seed`: for ecmp.
/// Failed links are avoided: routes use the best remaining paths. If the usual rails are
/// disconnected, routes use as few other rails as possible, then fewest hops and least latency.
/// Changed latencies do not affect the choice.
[[nodiscard]] std::shared_ptr<const Router> make_router(const Cluster& cluster,
                                                        RoutePolicy policy = RoutePolicy::automatic,
                                                        std::uint64_t seed = 0);

}  // namespace lockstep
