#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topologies/import/machine/machine.hpp"

/// What links carry and how late they are, as NCCL counts them (2.30.7, src/graph/topo.h for
/// bandwidths, src/graph/tuning.cc for latencies), compared with what their makers say.
namespace lockstep {

/// `count` NVLinks of a GPU of that compute capability (80 is 8.0), straight to another GPU or CPU,
/// or to an NVSwitch (which two links pass).
enum class NvlinkEnd { device, nvswitch };
[[nodiscard]] SourcedLink nvlink_of(int compute_capability, int count, NvlinkEnd end);

/// `count` xGMI links between two AMD GPUs of that architecture, such as "gfx942".
[[nodiscard]] SourcedLink xgmi_of(std::string_view architecture, int count);

/// A PCIe link: generation 1 to 6 and lanes.
[[nodiscard]] SourcedLink pcie_of(int generation, int lanes);
/// The generation that "16.0 GT/s PCIe" stands for; empty if none.
[[nodiscard]] std::optional<int> pcie_generation(std::string_view speed);

/// What a NIC in such a slot is assumed to be: the fastest of its kind that the slot can carry.
[[nodiscard]] NicSpeed nic_speed_for(const LinkFigures& slot);

/// What NCCL takes links inside a chip to carry, which is more than anything else does.
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
/// Where nothing is known of the CPUs.
[[nodiscard]] SourcedLink link_between_unknown_cpus();

/// From a NIC of that speed to its switch.
[[nodiscard]] SourcedLink network_link(Rate speed, const std::string& speed_source);

}  // namespace lockstep
