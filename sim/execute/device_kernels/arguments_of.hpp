#pragma once

#include <vector>

#include "sim/execute/device_kernels/arguments.hpp"
#include "sim/execute/device_kernels/kernel_launch.hpp"

namespace lockstep::kernels {

/// A launch's figures with its operands, in order; tables where they lie on the host.
[[nodiscard]] Arguments arguments_of(const KernelLaunch& launch, const std::vector<Values>& reads,
                                     const std::vector<Values>& writes);

}  // namespace lockstep::kernels
