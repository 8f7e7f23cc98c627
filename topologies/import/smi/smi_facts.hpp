#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "topologies/devices/device.hpp"
#include "topologies/import/smi/smi_matrix.hpp"

namespace lockstep {

/// What the matrix does not tell of its GPUs.
struct SmiFacts {
  std::string device;  // empty: not known
  int compute_capability = 80;
  int pcie = 4;    // generation
  int links = 18;  // NVLinks that a GPU has
};

/// Those of `device`; where none is given, of the likeliest with so many NVLinks.
[[nodiscard]] SmiFacts facts_of(const SmiMatrix& matrix, const std::optional<Device>& device);

/// NVLinks of a GPU to all others together, and the most to any.
[[nodiscard]] int sum_of_links(const SmiMatrix& matrix, std::size_t gpu);
[[nodiscard]] int most_links(const SmiMatrix& matrix, std::size_t gpu);

}  // namespace lockstep
