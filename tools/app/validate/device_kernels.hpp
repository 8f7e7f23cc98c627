#pragma once

#include <vector>

#include "sim/program/kernel.hpp"
#include "strategies/measure/validation/measured.hpp"

/// What a device does for one point of a table, as kernels of the cost model.
namespace lockstep::app {

/// m * k by k * n: operands in the table's precision, the result in 16 bits at least.
[[nodiscard]] Kernel gemm_kernel(const DevicePoint& point, Dtype math);

/// Attention of a batch, forward or both ways; where scores are written out, each of its steps.
[[nodiscard]] std::vector<Kernel> attention_kernels(const DeviceTable& table,
                                                    const DevicePoint& point, Dtype math);

/// Reading and writing so many bytes in all.
[[nodiscard]] Kernel copy_kernel(Bytes moved);

}  // namespace lockstep::app
