#pragma once

#include "strategies/collectives/placement/placement.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// What NCCL would detect for a communicator on a cluster of such devices, from the routes between
/// its members on the first of the largest nodes (all nodes are assumed equal). NICs add no
/// latency; no in-network reduction. Single GPUs or hosts on a fabric are nodes of one. Only the
/// first 128 GPUs of a node are considered.
[[nodiscard]] NcclFacts nccl_facts_of(const NcclTuning& tuning, const Cluster& cluster,
                                      const Device& device, const MemberPlacement& placement);
/// The same for all ranks of the cluster.
[[nodiscard]] NcclFacts nccl_facts_of(const NcclTuning& tuning, const Cluster& cluster,
                                      const Device& device);

}  // namespace lockstep
