#pragma once

#include <cstdint>
#include <vector>

#include "sim/execute/device_kernels/arguments.hpp"
#include "sim/execute/device_kernels/kernel_launch.hpp"

namespace lockstep::kernels {

/// Executes one kernel on the host, single-threaded. `reads` and `writes`: operands in order.
void run_on_host(const KernelLaunch& launch, const std::vector<Values>& reads,
                 const std::vector<Values>& writes);

/// to += from, or to = max(to, from).
void combine_on_host(bool adds, std::int64_t count, const Values& from, const Values& to);

}  // namespace lockstep::kernels
