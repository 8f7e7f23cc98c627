#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topologies/graph/cluster.hpp"

/// Switches that take part in a collective: they reduce what comes from below and multicast what
/// comes from above.
namespace lockstep {

/// Such switches as trees over the ranks. Node i < ranks is rank i, node ranks + k is switches[k].
struct SwitchForest {
  std::vector<int> parent;           // per node; -1: none above
  std::vector<EndpointId> switches;  // consecutive, behind the cluster's end points
  std::vector<VertexId> vertices;    // switches[k] is this vertex of the cluster
};

enum class SwitchTier : std::uint8_t {
  nvswitch,  // inside the nodes
  fabric,    // between them
};

/// The trees of a tier. In nodes: every rank below the NVSwitch that it is cabled to. In the
/// fabric, per rail (or in its one plane): ranks below the switch that the NIC of their rail (or
/// they themselves) is cabled to, those below the one switch of lowest id that reaches them all, a
/// spine or, over one spine each, a core; a single switch is its own root. Switches without ranks
/// below stay out.
///
/// The end point of switches[k] is cluster.endpoints() + `switches_before` + k: so many switches
/// of other forests come before, where a network is to have several.
///
/// Links that have failed are not used. Empty where a rank has no such switch, or more than one;
/// where a fabric is no tree (rings, tori, a dragonfly of several routers); where there is no
/// fabric.
[[nodiscard]] std::optional<SwitchForest> switch_forest(const Cluster& cluster, SwitchTier tier,
                                                        int switches_before = 0);

}  // namespace lockstep
