#pragma once

#include <optional>
#include <vector>

#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/tuning_data.hpp"

/// What NCCL's search of channels comes to, computed from the bandwidths that it has to share out
/// instead of by trying paths one by one. Source: NCCL 2.30.7 src/graph/search.cc, connect.cc.
namespace lockstep {

/// What a node offers to rings.
struct NcclNode {
  int gpus = 1;
  /// Of every GPU the bandwidths of its NVLinks, where these join all GPUs.
  std::vector<std::vector<Rate>> nvlinks;
  /// Else what one ring through all GPUs gets over PCIe; none: there is one GPU.
  std::optional<Rate> pcie_ring;
  bool nvswitch = false;
  std::vector<Rate> nics;  // each with its way from a GPU; none where there is one node
};

/// Channels of the rings of one node, or of rings through several.
[[nodiscard]] NcclGraph search_rings(const NcclLadder& ladder, const NcclChannelCounts& counts,
                                     const NcclNode& node, bool several_nodes);

/// Channels of NVLS: each has another GPU (or the GPU of another NIC) that adds up.
[[nodiscard]] NcclGraph search_nvls(const NcclLadder& ladder, const NcclChannelCounts& counts,
                                    const NcclNode& node, bool several_nodes);

/// Channels that kernels run with.
[[nodiscard]] int channels_used(const NcclChannelCounts& counts, const NcclGraph& rings,
                                NcclArchitecture architecture, bool several_nodes);

}  // namespace lockstep
