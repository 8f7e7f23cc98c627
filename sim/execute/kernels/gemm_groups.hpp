#pragma once

#include <vector>

#include "sim/execute/kernels/kernels.hpp"

namespace lockstep::kernels {

/// The dimensions of a GEMM y = a b, grouped by the operands that have them.
struct GemmGroups {
  std::vector<PartAxis> all{};      // a, b and y
  std::vector<PartAxis> rows{};     // a and y
  std::vector<PartAxis> columns{};  // b and y
  std::vector<PartAxis> inner{};    // a and b: contracted
};

/// ExecutionError for a dimension of only one operand.
[[nodiscard]] GemmGroups gemm_groups(const KernelSettings& call, const PartLayout& a,
                                     const PartLayout& b, const PartLayout& y);

}  // namespace lockstep::kernels
