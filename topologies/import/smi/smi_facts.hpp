#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "topologies/devices/device.hpp"
#include "topologies/import/smi/smi_matrix.hpp"

namespace lockstep {

/// Properties of the GPUs that the matrix does not contain.
struct SmiFacts {
  std::string device;  // empty: unknown
  int compute_capability = 80;
  int pcie = 4;    // generation
  int links = 18;  // NVLinks per GPU
};

/// Those of `device`, else of the most likely GPU with that many NVLinks.
[[nodiscard]] SmiFacts facts_of(const SmiMatrix& matrix, const std::optional<Device>& device);

/// NVLinks of a GPU to all others combined, and the maximum to any.
[[nodiscard]] int sum_of_links(const SmiMatrix& matrix, std::size_t gpu);
[[nodiscard]] int most_links(const SmiMatrix& matrix, std::size_t gpu);

}  // namespace lockstep
