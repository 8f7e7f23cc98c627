#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "strategies/calibration/measured_machine.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Whether a machine's GPUs are of this device: model, form factor (PCIe, NVL, else SXM) and number
/// of multiprocessors agree. "NVIDIA H100 80GB HBM3" with 132 of them is "h100-sxm5-80gb".
[[nodiscard]] bool is_of_kind(const MeasuredMachine& machine, const Device& device);

/// Which links between GPUs a cluster has after with_links_of().
struct MachineLinkUse {
  enum class Kind : std::uint8_t {
    measured,      // NVLinks of the machine; otherwise those of the cluster, since
    host,          // the calibration is of a host,
    other_device,  // of another device,
    one_gpu,       // of one GPU,
    no_nvlink,     // or no two GPUs of a node are joined by NVLink alone
  } kind = Kind::measured;
  /// A path from one GPU to another.
  struct Path {
    Rate rate = Rate::bytes_per_second(1);
    Duration latency{};
  };
  std::string measured_device{};  // the calibration's name of its GPUs, or of its host
  std::string device{};           // the cluster's
  // Of measured links:
  int from = 0;  // an example: GPUs of a node
  int to = 0;
  Path now{};                                // of the example
  Path before{};                             // the same without the calibration
  std::size_t pairs = 0;                     // whose median is used
  Rate slowest = Rate::bytes_per_second(1);  // of the pairs
  Rate fastest = Rate::bytes_per_second(1);
};

/// A cluster with the measured links of a machine.
struct ClusterOfMachine {
  Cluster cluster;
  MachineLinkUse links;
};

/// The cluster with the measured NVLinks of a machine between the GPUs of a node, so that a single
/// copy takes the fitted time. The n-th GPU of a node corresponds to the n-th of the machine; the
/// median over all pairs is used. Latency is that of a copy between two GPUs minus that of a copy
/// within one. Fabrics are unchanged, and so is everything if the machine has one GPU, is a host or
/// of another device, or if nodes have no NVLink.
[[nodiscard]] ClusterOfMachine with_links_of(const MeasuredMachine& machine, const Cluster& cluster,
                                             const Device& device);

}  // namespace lockstep
