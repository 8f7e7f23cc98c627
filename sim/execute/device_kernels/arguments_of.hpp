#pragma once

#include <vector>

#include "sim/execute/device_kernels/arguments.hpp"
#include "sim/execute/device_kernels/kernel_launch.hpp"

namespace lockstep::kernels {

/// Arguments of a launch with its operands, in order; tables are in host memory.
[[nodiscard]] Arguments arguments_of(const KernelLaunch& launch, const std::vector<Values>& reads,
                                     const std::vector<Values>& writes);
/// The same for operands that all have one type.
template <class Real>  // float, double
[[nodiscard]] BasicArguments<PlainValues<Real>> plain_arguments(const Arguments& arguments);

}  // namespace lockstep::kernels
