#pragma once

#include <vector>

#include "sim/program/kernel/kernel.hpp"
#include "strategies/measure/validation/measured.hpp"

/// The cost model's kernels for one point of a table.
namespace lockstep::app {

/// m * k by k * n, in each group: operands in the table's precision, the result in at least 16
/// bits.
[[nodiscard]] Kernel gemm_kernel(const DevicePoint& point, Dtype math);

/// Attention of a batch, forward or forward and backward, with the table's heads and their sizes;
/// unfused attention as one kernel per step.
[[nodiscard]] std::vector<Kernel> attention_kernels(const DeviceTable& table,
                                                    const DevicePoint& point, Dtype math);

/// An operation whose tensors have `moved` bytes, each read or written once.
[[nodiscard]] Kernel memory_bound_kernel(OperationKind operation, Bytes moved);

/// A kernel that reads and writes `moved` bytes in total.
[[nodiscard]] Kernel copy_kernel(Bytes moved);

}  // namespace lockstep::app
