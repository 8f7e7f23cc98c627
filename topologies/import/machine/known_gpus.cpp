#include "topologies/import/machine/known_gpus.hpp"

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

/// Of those that agree in something the commonest stands first.
constexpr std::array<KnownGpu, 12> kGpus{{{"h100-sxm5-80gb", "10de:2330", 90, "", 18, 5},
                                          {"h200-sxm5-141gb", "10de:2335", 90, "", 18, 5},
                                          {"h100-pcie-80gb", "10de:2331", 90, "", 12, 5},
                                          {"b200-sxm-180gb", "10de:2901", 100, "", 18, 5},
                                          {"gb200-nvl72", "10de:2941", 100, "", 18, 5},
                                          {"a100-sxm4-80gb", "10de:20b2", 80, "", 12, 4},
                                          {"a100-sxm4-40gb", "10de:20b0", 80, "", 12, 4},
                                          {"a100-pcie-80gb", "10de:20b5", 80, "", 12, 4},
                                          {"v100-sxm2-32gb", "10de:1db5", 70, "", 6, 3},
                                          {"v100-sxm2-16gb", "10de:1db1", 70, "", 6, 3},
                                          {"v100-sxm3-32gb", "10de:1db8", 70, "", 6, 3},
                                          {"mi300x-192gb", "1002:74a1", 0, "gfx942", 7, 5}}};

template <class Is>
const KnownGpu* first(Is&& is) {
  const auto found = std::find_if(kGpus.begin(), kGpus.end(), is);
  return found == kGpus.end() ? nullptr : &*found;
}

}  // namespace

const KnownGpu* gpu_of_device(std::string_view device) {
  return first([&](const KnownGpu& gpu) { return gpu.device == device; });
}

const KnownGpu* gpu_of_pci_id(std::string_view pci_id) {
  return first([&](const KnownGpu& gpu) { return gpu.pci_id == pci_id; });
}

const KnownGpu* gpu_of_capability(int compute_capability) {
  return first([&](const KnownGpu& gpu) {
    return gpu.compute_capability != 0 && gpu.compute_capability == compute_capability;
  });
}

const KnownGpu* gpu_of_architecture(std::string_view gfx) {
  return first([&](const KnownGpu& gpu) { return !gfx.empty() && gpu.gfx == gfx; });
}

/// Fewer links than a GPU has may be in use: the least that suffice.
const KnownGpu* gpu_of_links(int links) {
  for (const int has : {6, 12, 18}) {
    if (links > has) continue;
    return first([&](const KnownGpu& gpu) {
      return gpu.links == has && gpu.pci_id.substr(0, 4) == "10de" &&
             gpu.device.find("pcie") == gpu.device.npos;
    });
  }
  return nullptr;
}

const KnownGpu* gpu_of_pcie(int generation) {
  return first([&](const KnownGpu& gpu) { return gpu.pcie == generation; });
}

}  // namespace lockstep
