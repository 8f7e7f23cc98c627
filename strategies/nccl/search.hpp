#pragma once

#include <optional>
#include <vector>

#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/tuning_data.hpp"

/// The result of NCCL's channel search, computed from available bandwidths instead of enumerating
/// paths. Source: NCCL 2.30.7 src/graph/search.cc, connect.cc.
namespace lockstep {

/// Bandwidth that a node offers to rings.
struct NcclNode {
  int gpus = 1;
  /// NVLink bandwidths of every GPU, if they connect all GPUs.
  std::vector<std::vector<Rate>> nvlinks;
  /// Otherwise: bandwidth of one ring through all GPUs over PCIe; none: one GPU.
  std::optional<Rate> pcie_ring;
  bool nvswitch = false;
  std::vector<Rate> nics;  // each limited by its path from a GPU; empty with one node
};

/// Channels of rings inside one node, or across several.
[[nodiscard]] NcclGraph search_rings(const NcclLadder& ladder, const NcclChannelCounts& counts,
                                     const NcclNode& node, bool several_nodes);

/// Channels of NVLS: each is reduced at another GPU (or another NIC's GPU).
[[nodiscard]] NcclGraph search_nvls(const NcclLadder& ladder, const NcclChannelCounts& counts,
                                    const NcclNode& node, bool several_nodes);

/// Number of channels that kernels use.
[[nodiscard]] int channels_used(const NcclChannelCounts& counts, const NcclGraph& rings,
                                NcclArchitecture architecture, bool several_nodes);

}  // namespace lockstep
