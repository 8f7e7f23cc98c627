#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "sim/execute/device_kernels/arguments.hpp"
#include "sim/execute/device_kernels/kernel_launch.hpp"

/// The kernels of sim/execute/device_kernels on a GPU. Tables must be in GPU memory.
namespace lockstep::cuda {

/// Throws DeviceError with the kernel's name.
void launch_floats(const KernelLaunch& launch, const kernels::Arguments& arguments,
                   cudaStream_t stream);
void launch_doubles(const KernelLaunch& launch, const kernels::Arguments& arguments,
                    cudaStream_t stream);

/// to += from, or to = max(to, from), in the buffers' own type.
void combine(bool adds, std::int64_t count, const kernels::Values& from, const kernels::Values& to,
             cudaStream_t stream);
void fill_nan(const kernels::Values& to, std::int64_t count, cudaStream_t stream);
void fill_scattered(const kernels::Values& to, std::int64_t count, const NumberRange& range,
                    std::uint64_t seed, cudaStream_t stream);

}  // namespace lockstep::cuda
