#pragma once

#include <optional>

#include "topologies/graph/cluster.hpp"

namespace lockstep::app {

/// The size of a cluster, and what connects its nodes.
struct ClusterFacts {
  int nodes = 1;
  int gpus_per_node = 1;
  int nics_per_node = 0;             // of the first node
  std::optional<Rate> nic{};         // nominal, of the first NIC, in one direction
  std::optional<Rate> nic_usable{};  // what it carries
  std::optional<Rate> nic_pcie{};    // what its link to the node carries
  std::optional<Rate> gpu_pcie{};    // what a GPU's PCIe link carries

  /// What the PCIe links of a NIC and of the GPUs that share it let through; none without both.
  [[nodiscard]] std::optional<Rate> reachable() const;
  /// Whether a NIC is faster than that.
  [[nodiscard]] bool nic_exceeds_pcie() const;
};

[[nodiscard]] ClusterFacts cluster_facts(const Cluster& cluster);

}  // namespace lockstep::app
