#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Among the best paths: rail first where the fabric has rails (over NVLink to the GPU that shares
/// the receiver's rail, out of its NIC, straight into the receiver), else fewest hops, then least
/// latency. A rank uses the NIC of its own rail, and nothing leaves the node that is meant for it.
enum class RoutePolicy : std::uint8_t {
  automatic,  // split evenly over all of them
  ecmp,       // one of them, by a hash of the two ends and a seed
  shortest,   // one of them: at every hop the link of lowest id
};
inline constexpr std::array<std::string_view, 3> kRoutePolicyNames{"auto", "ecmp", "shortest"};

[[nodiscard]] std::optional<RoutePolicy> parse_route_policy(std::string_view text);

/// Hops of each of a route's paths (they are all equally many).
[[nodiscard]] std::int64_t path_length(const Route& route);

/// Answers for routes between the cluster's end points. Thread-safe; its memory does not grow with
/// the pairs of ranks. `seed` matters for ecmp alone.
///
/// Links that have failed are not used: the best of the paths that are left are. Where the usual
/// rails have lost their way, others are taken, as few as possible, then fewest hops and least
/// latency. A latency that has changed moves no route.
[[nodiscard]] std::shared_ptr<const Router> make_router(const Cluster& cluster,
                                                        RoutePolicy policy = RoutePolicy::automatic,
                                                        std::uint64_t seed = 0);

}  // namespace lockstep
