#pragma once

#include <optional>
#include <utility>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Two ranks without a route from the first to the second because of failed links. Examines one
/// node per kind (same failures, same switches above) instead of every pair; in a cluster that is a
/// single graph of more than 256 ranks, ranks in nodes with failures and rank 0.
[[nodiscard]] std::optional<std::pair<EndpointId, EndpointId>> first_cut_off(
    const Cluster& cluster);

}  // namespace lockstep
