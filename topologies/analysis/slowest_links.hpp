#pragma once

#include <array>
#include <optional>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// By LinkKind: parameters of the link with the lowest usable bandwidth in a node and in a plane of
/// the fabric, or among the changed links if any are; none if the cluster has none of the kind.
/// Failed links are left out.
[[nodiscard]] std::array<std::optional<LinkFigures>, kLinkKindNames.size()> slowest_links(
    const Cluster& cluster);

}  // namespace lockstep
