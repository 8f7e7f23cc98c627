#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "strategies/measure/validation/comparison.hpp"

namespace lockstep {

/// How often the prediction interval of `lockstep run` contains the measured step time of a group
/// when that group's runs are left out of the interval and of the choice of its width (nested
/// leave-one-group-out).
struct GroupCoverage {
  std::string group{};
  std::size_t runs = 0;
  std::size_t inside = 0;

  [[nodiscard]] double share() const {
    return static_cast<double>(inside) / static_cast<double>(runs);
  }
};

/// Sorted by group. Empty with fewer than three groups of step times.
[[nodiscard]] std::vector<GroupCoverage> coverage_by_others(std::span<const Comparison> rows);

}  // namespace lockstep
