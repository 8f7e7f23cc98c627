#pragma once

#include <memory>

#include "sim/network/network.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// The same routes with current latencies: a changed latency affects the time of a route, not its
/// choice. A split route has the latency of its slowest path. Returns `router` itself if no latency
/// has changed.
[[nodiscard]] std::shared_ptr<const Router> with_delays(const Cluster& cluster,
                                                        std::shared_ptr<const Router> router);

}  // namespace lockstep
