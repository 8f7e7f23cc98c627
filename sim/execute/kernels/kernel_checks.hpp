#pragma once

#include <string>

#include "sim/execute/kernels/kernels.hpp"

/// Checks of operands. All throw ExecutionError that names the operation.
namespace lockstep::kernels {

[[noreturn]] void refuse(const KernelSettings& call, const std::string& why);
/// Shared dimensions must have the same indices; for slots of experts, whose order is arbitrary,
/// only their number.
void check_aligned(const KernelSettings& call, const Tensor& a, const PartLayout& in_a,
                   const Tensor& b, const PartLayout& in_b);
/// A dimension that must not be sharded.
void check_whole(const KernelSettings& call, const Tensor& tensor, const PartAxis& axis);
/// A required dimension.
[[nodiscard]] const PartAxis& axis_of(const KernelSettings& call, const Tensor& tensor,
                                      const PartLayout& layout, Dim dim);

/// Checks what integers among the operands say, which layouts do not: rows of tables, labels,
/// experts, and that the slots of experts are enough for a dropping rule.
template <class Real>  // float, double
void check_values(const KernelCall<Real>& call);

}  // namespace lockstep::kernels
