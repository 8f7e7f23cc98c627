#pragma once

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// How much more the NVLinks of GPUs carry than they do, and how much later; both above 0.
struct GpuLinkFactors {
  double bandwidth = 1;
  double latency = 1;
};

/// The same cluster with these factors on every NVLink from GPU to GPU or between GPU and NVSwitch,
/// in all nodes alike, as changes of its overlay: routes stay where they were. Links that have
/// failed, and those of hosts, NICs and fabrics, are as they were.
[[nodiscard]] Cluster with_gpu_links(const Cluster& cluster, const GpuLinkFactors& factors);

}  // namespace lockstep
