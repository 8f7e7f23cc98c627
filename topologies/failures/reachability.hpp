#pragma once

#include <optional>
#include <utility>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Two ranks of which the first has no route to the second, since links have failed. Looks at one
/// node of each sort (same losses, same switches above) rather than at every pair; in a cluster
/// that is one graph of more than 256 ranks, at the ranks in the nodes of what has failed and at
/// rank 0.
[[nodiscard]] std::optional<std::pair<EndpointId, EndpointId>> first_cut_off(
    const Cluster& cluster);

}  // namespace lockstep
