#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "strategies/measure/validation/comparison.hpp"

namespace lockstep {

/// How often the interval that `lockstep run` prints would have held the step time that was
/// measured, had nobody known the runs of this group.
struct GroupCoverage {
  std::string group{};
  std::size_t runs = 0;
  std::size_t inside = 0;

  [[nodiscard]] double share() const {
    return static_cast<double>(inside) / static_cast<double>(runs);
  }
};

/// By group, sorted. Nothing where there are not two groups of step times.
[[nodiscard]] std::vector<GroupCoverage> coverage_by_others(std::span<const Comparison> rows);

}  // namespace lockstep
