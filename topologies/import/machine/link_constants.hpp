#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topologies/import/machine/machine.hpp"

/// Bandwidths and latencies of links as in NCCL (2.30.7, src/graph/topo.h for bandwidths,
/// src/graph/tuning.cc for latencies), compared with vendor specifications.
namespace lockstep {

/// `count` NVLinks of a GPU of that compute capability (80 is 8.0), directly to another GPU or CPU,
/// or to an NVSwitch (two of which form a route).
enum class NvlinkEnd { device, nvswitch };
[[nodiscard]] SourcedLink nvlink_of(int compute_capability, int count, NvlinkEnd end);

/// `count` xGMI links between two AMD GPUs of that architecture, such as "gfx942".
[[nodiscard]] SourcedLink xgmi_of(std::string_view architecture, int count);

/// A PCIe link: generation 1 to 6 and lanes.
[[nodiscard]] SourcedLink pcie_of(int generation, int lanes);
/// The generation of "16.0 GT/s PCIe"; empty if unknown.
[[nodiscard]] std::optional<int> pcie_generation(std::string_view speed);

/// Assumed speed of a NIC in such a slot: the fastest of its kind that the slot supports.
[[nodiscard]] NicSpeed nic_speed_for(const LinkFigures& slot);

/// Links inside a chip, which NCCL assumes to be faster than all others.
[[nodiscard]] SourcedLink local_link(Duration latency);

/// NVLink-C2C between a GPU and its CPU.
[[nodiscard]] SourcedLink c2c_of(Rate bandwidth);

/// A CPU as an NCCL topology file describes it.
struct CpuModel {
  std::string arch;
  std::string vendor;
  int family = 0;
  int model = 0;
};
[[nodiscard]] SourcedLink link_between(const CpuModel& cpu);
/// For unknown CPUs.
[[nodiscard]] SourcedLink link_between_unknown_cpus();

/// From a NIC of that speed to its switch.
[[nodiscard]] SourcedLink network_link(Rate speed, const std::string& speed_source);

}  // namespace lockstep
