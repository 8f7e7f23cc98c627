#pragma once

#include <optional>
#include <string_view>

namespace lockstep {

/// A GPU that files of other tools may contain, and the corresponding device.
struct KnownGpu {
  std::string_view device;  // id in configs/devices
  std::string_view pci_id;  // vendor:device, as in the PCI ID Repository (pci-ids.ucw.cz)
  int compute_capability;   // 80 is 8.0; 0: not NVIDIA
  std::string_view gfx;     // AMD architecture
  int links;                // number of NVLinks or xGMI links
  int pcie;                 // generation
};

[[nodiscard]] const KnownGpu* gpu_of_device(std::string_view device);
/// "10de:20b0".
[[nodiscard]] const KnownGpu* gpu_of_pci_id(std::string_view pci_id);
/// The most common GPU of that compute capability, architecture, number of NVLinks, or PCIe
/// generation; nullptr if unknown.
[[nodiscard]] const KnownGpu* gpu_of_capability(int compute_capability);
[[nodiscard]] const KnownGpu* gpu_of_architecture(std::string_view gfx);
[[nodiscard]] const KnownGpu* gpu_of_links(int links);
[[nodiscard]] const KnownGpu* gpu_of_pcie(int generation);

}  // namespace lockstep
