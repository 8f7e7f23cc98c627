#pragma once

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Factors on the bandwidth and latency of GPUs' NVLinks; both above 0.
struct GpuLinkFactors {
  double bandwidth = 1;
  double latency = 1;
};

/// Applies the factors to every NVLink between GPUs or between GPU and NVSwitch, in all nodes, as
/// changes of the overlay, so routes are unchanged. The factors are taken as measured. Failed links
/// and those of hosts, NICs and fabrics are unaffected.
[[nodiscard]] Cluster with_gpu_links(const Cluster& cluster, const GpuLinkFactors& factors);

}  // namespace lockstep
