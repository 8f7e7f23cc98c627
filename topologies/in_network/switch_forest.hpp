#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topologies/graph/cluster.hpp"

/// Switches that take part in a collective: they reduce data from below and multicast data from
/// above.
namespace lockstep {

/// Reducing switches as trees over the ranks. Node i < ranks is rank i, node ranks + k is
/// switches[k].
struct SwitchForest {
  std::vector<int> parent;           // per node; -1 for a root
  std::vector<EndpointId> switches;  // consecutive, after the cluster's endpoints
  std::vector<VertexId> vertices;    // switches[k] is this vertex of the cluster
};

enum class SwitchTier : std::uint8_t {
  nvswitch,  // inside the nodes
  fabric,    // between them
};

/// The reduction trees of a tier. nvswitch: every rank below the NVSwitch it is connected to.
/// fabric: per rail (or in the single plane), ranks below the switch of their rail's NIC (or their
/// own), these below the lowest switch that reaches them all: a spine or, over one spine each, a
/// core; a single switch is its own root. Switches without ranks below are excluded.
/// The endpoint of switches[k] is cluster.endpoints() + `switches_before` + k; `switches_before`
/// counts the switches of preceding forests of the same network.
/// Failed links are not used. Empty if a rank has no such switch, or several; if the fabric is no
/// tree (ring, torus, dragonfly with several routers); without a fabric.
[[nodiscard]] std::optional<SwitchForest> switch_forest(const Cluster& cluster, SwitchTier tier,
                                                        int switches_before = 0);

}  // namespace lockstep
