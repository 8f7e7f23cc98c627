#pragma once

#include <string>

#include "strategies/measure/machine/measured_machine.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Whether a machine's GPUs are of this device: model, form factor (PCIe, NVL, else SXM) and number
/// of multiprocessors agree. "NVIDIA H100 80GB HBM3" with 132 of them is "h100-sxm5-80gb".
[[nodiscard]] bool is_of_kind(const MeasuredMachine& machine, const Device& device);

/// A cluster with the measured links of a machine.
struct ClusterOfMachine {
  Cluster cluster;
  std::string links;  // in words: the parameters used, or why none were
};

/// The cluster with the measured NVLinks of a machine between the GPUs of a node, so that a single
/// copy takes the fitted time. The n-th GPU of a node corresponds to the n-th of the machine; the
/// median over all pairs is used. Latency is that of a copy between two GPUs minus that of a copy
/// within one. Fabrics are unchanged, and so is everything if the machine has one GPU, is a host or
/// of another device, or if nodes have no NVLink.
[[nodiscard]] ClusterOfMachine with_links_of(const MeasuredMachine& machine, const Cluster& cluster,
                                             const Device& device);

}  // namespace lockstep
