#include "topologies/import/smi/smi_facts.hpp"

#include <algorithm>

#include "topologies/import/machine/known_gpus.hpp"

namespace lockstep {
namespace {

constexpr int kMostLinks = 18;  // of any GPU so far: NVLink 4 and 5

/// NVLinks of a GPU if they led straight to the others; of an NVSwitch every pair shows them all.
int links_used(const SmiMatrix& matrix, std::size_t gpu) {
  const int sum = sum_of_links(matrix, gpu);
  return sum <= kMostLinks ? sum : most_links(matrix, gpu);
}

void take(const Device& device, SmiFacts& facts) {
  facts.device = device.id;
  if (device.pcie_generation)
    facts.pcie = std::clamp(static_cast<int>(*device.pcie_generation), 1, 6);
  if (device.peer_links)
    facts.links = static_cast<int>(std::clamp<std::int64_t>(device.peer_links->count, 1, 1024));
}

}  // namespace

SmiFacts facts_of(const SmiMatrix& matrix, const std::optional<Device>& device) {
  SmiFacts facts;
  int most = 0;
  for (std::size_t i = 0; i < matrix.devices.size(); ++i)
    most = std::max(most, links_used(matrix, i));
  const KnownGpu* known = device ? gpu_of_device(device->id) : gpu_of_links(most);
  if (known != nullptr && (device || most > 0))
    facts = {std::string{known->device}, known->compute_capability, known->pcie, known->links};
  if (device) take(*device, facts);
  return facts;
}

int sum_of_links(const SmiMatrix& matrix, std::size_t gpu) {
  int sum = 0;
  for (std::size_t other = 0; other < matrix.devices.size(); ++other)
    sum += matrix.cell(gpu, other).links;
  return sum;
}

int most_links(const SmiMatrix& matrix, std::size_t gpu) {
  int most = 0;
  for (std::size_t other = 0; other < matrix.devices.size(); ++other)
    most = std::max(most, matrix.cell(gpu, other).links);
  return most;
}

}  // namespace lockstep
