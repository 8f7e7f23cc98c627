#pragma once

#include <optional>

#include "topologies/graph/cluster.hpp"

namespace lockstep::app {

/// Size of a cluster, and bandwidths between its nodes.
struct ClusterFacts {
  int nodes = 1;
  int gpus_per_node = 1;
  int nics_per_node = 0;             // of the first node
  std::optional<Rate> nic{};         // nominal, of the first NIC, per direction
  std::optional<Rate> nic_usable{};  // after efficiency
  std::optional<Rate> nic_pcie{};    // bandwidth of its link to the node
  std::optional<Rate> gpu_pcie{};    // bandwidth of a GPU's PCIe link
  std::optional<Rate>
      gpu_switch{};  // nominal, all links of the first GPU to GPU switches, as built

  /// Bandwidth limit of the PCIe links of a NIC and the GPUs that share it; none if either is
  /// unknown.
  [[nodiscard]] std::optional<Rate> reachable() const;
  /// Whether a NIC exceeds that limit.
  [[nodiscard]] bool nic_exceeds_pcie() const;
};

[[nodiscard]] ClusterFacts cluster_facts(const Cluster& cluster);

}  // namespace lockstep::app
