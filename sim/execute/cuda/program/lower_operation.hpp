#pragma once

#include <cstdint>
#include <vector>

#include "sim/execute/cuda/kernels/kernel_launch.hpp"
#include "sim/execute/host/kernels/kernels.hpp"

/// One operation on a rank's parts as kernels for a device.
namespace lockstep {

/// Names an operand: the operation's reads, then its writes.
struct LoweredOperand {
  bool written = false;
  std::size_t index = 0;
};

struct LoweredKernel {
  KernelLaunch launch;
  std::vector<LoweredOperand> reads{};
  std::vector<LoweredOperand> writes{};
};

/// `call`: operands without values. `adds`: per written tensor, whether to what it holds. What has
/// no kernel of its own is computed by the host's reference kernel (KernelFunction::on_host).
/// Errors: ExecutionError for operands that do not fit.
template <class Real>  // float, double: what is computed in
[[nodiscard]] std::vector<LoweredKernel> lower_operation(const KernelCall<Real>& call,
                                                         const std::vector<bool>& adds);

/// Whether an operation may write where it reads, element by element.
[[nodiscard]] bool works_in_place(OperationKind kind);

}  // namespace lockstep
