#pragma once

#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "topologies/cluster.hpp"
#include "topologies/config/device.hpp"

namespace lockstep {

/// What NCCL would find on a cluster whose GPUs are such devices: looked at through the routes of
/// its first node (all nodes are taken to be alike), with NICs that add no latency and no reduction
/// in the network. Single GPUs or hosts on a fabric count as nodes of one.
///
/// Beyond a node's 128th GPU nothing is looked at.
[[nodiscard]] NcclFacts nccl_facts_of(const NcclTuning& tuning, const Cluster& cluster,
                                      const Device& device);

}  // namespace lockstep
