#pragma once

#include <optional>
#include <string_view>

namespace lockstep {

/// A GPU that files of other tools may name, and the device of ours that it is.
struct KnownGpu {
  std::string_view device;  // id in configs/devices
  std::string_view pci_id;  // vendor:device, as in the PCI ID Repository (pci-ids.ucw.cz)
  int compute_capability;   // 80 is 8.0; 0: not NVIDIA's
  std::string_view gfx;     // of AMD's
  int links;                // NVLinks or xGMI links it has
  int pcie;                 // generation
};

[[nodiscard]] const KnownGpu* gpu_of_device(std::string_view device);
/// "10de:20b0".
[[nodiscard]] const KnownGpu* gpu_of_pci_id(std::string_view pci_id);
/// The commonest of that compute capability, of that architecture, with so many NVLinks, or on that
/// generation of PCIe; nullptr where none is known.
[[nodiscard]] const KnownGpu* gpu_of_capability(int compute_capability);
[[nodiscard]] const KnownGpu* gpu_of_architecture(std::string_view gfx);
[[nodiscard]] const KnownGpu* gpu_of_links(int links);
[[nodiscard]] const KnownGpu* gpu_of_pcie(int generation);

}  // namespace lockstep
