#pragma once

#include <vector>

#include "sim/execute/kernels/kernels.hpp"

namespace lockstep::kernels {

/// The dimensions of a GEMM y = a b by who has them.
struct GemmGroups {
  std::vector<PartAxis> all{};      // a, b and y
  std::vector<PartAxis> rows{};     // a and y
  std::vector<PartAxis> columns{};  // b and y
  std::vector<PartAxis> inner{};    // a and b: summed over
};

/// Errors: ExecutionError for a dimension that one of them has alone.
[[nodiscard]] GemmGroups gemm_groups(const KernelSettings& call, const PartLayout& a,
                                     const PartLayout& b, const PartLayout& y);

}  // namespace lockstep::kernels
