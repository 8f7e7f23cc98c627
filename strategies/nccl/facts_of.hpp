#pragma once

#include "strategies/collectives/placement/placement.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// What NCCL would find in a communicator on a cluster whose GPUs are such devices: looked at
/// through the routes between its members on the first of its fullest nodes (all nodes are taken to
/// be alike), with NICs that add no latency and no reduction in the network. Single GPUs or hosts
/// on a fabric count as nodes of one.
///
/// Beyond a node's 128th GPU nothing is looked at.
[[nodiscard]] NcclFacts nccl_facts_of(const NcclTuning& tuning, const Cluster& cluster,
                                      const Device& device, const MemberPlacement& placement);
/// Of all ranks of the cluster.
[[nodiscard]] NcclFacts nccl_facts_of(const NcclTuning& tuning, const Cluster& cluster,
                                      const Device& device);

}  // namespace lockstep
