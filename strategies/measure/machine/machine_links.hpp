#pragma once

#include <string>

#include "strategies/measure/machine/measured_machine.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Whether a machine's GPUs are the device: model, form (PCIe, NVL, else on a board with NVLink)
/// and multiprocessors agree. "NVIDIA H100 80GB HBM3" with 132 of them is "h100-sxm5-80gb".
[[nodiscard]] bool is_of_kind(const MeasuredMachine& machine, const Device& device);

/// A cluster with the links of a machine.
struct ClusterOfMachine {
  Cluster cluster;
  std::string links;  // in words: the figures that were taken, or why none were
};

/// The cluster with NVLinks between the GPUs of a node as the machine has them, so that what one
/// GPU sends another alone takes what the fit says: the n-th GPU of a node is held to the n-th of
/// the machine, and the median over all pairs counts. Latencies are those of a pair's copies less
/// the start of a copy within one GPU, which is no link's. Fabrics stay, and so does all else where
/// the machine is of one GPU, of a host or of another kind, or where a node has no NVLink.
[[nodiscard]] ClusterOfMachine with_links_of(const MeasuredMachine& machine, const Cluster& cluster,
                                             const Device& device);

}  // namespace lockstep
