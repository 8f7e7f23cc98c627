#pragma once

#include <memory>

#include "sim/network/network.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// The same routes with the latencies that links have now: another latency moves no route, it only
/// takes its time. Of a route that is split, the slowest path counts. `router` itself where no
/// latency has changed.
[[nodiscard]] std::shared_ptr<const Router> with_delays(const Cluster& cluster,
                                                        std::shared_ptr<const Router> router);

}  // namespace lockstep
