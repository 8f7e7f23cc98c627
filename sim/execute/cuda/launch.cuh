#pragma once

#include <algorithm>
#include <string>

#include "sim/execute/cuda/cuda_check.hpp"
#include "sim/execute/cuda/cuda_kernels.hpp"
#include "sim/execute/device_kernels/dispatch.hpp"

namespace lockstep::cuda {

inline constexpr int kThreads = 256;
inline constexpr int kTeam = static_cast<int>(kTeamLanes);
inline constexpr std::int64_t kMostBlocks = 1 << 20;

/// A block of threads that work on one row.
template <class Real>
class BlockTeam {
 public:
  __device__ explicit BlockTeam(unsigned char* shared)
      : sums_{reinterpret_cast<Real*>(shared)}, scratch_{sums_ + 32} {}

  [[nodiscard]] __device__ std::int64_t lane() const { return threadIdx.x; }
  [[nodiscard]] __device__ std::int64_t lanes() const { return blockDim.x; }
  __device__ void wait() { __syncthreads(); }
  [[nodiscard]] __device__ Real* scratch() const { return scratch_; }

  [[nodiscard]] __device__ Real sum(Real own) {
    return over_all(own, [](Real a, Real b) { return a + b; });
  }
  [[nodiscard]] __device__ Real maximum(Real own) {
    return over_all(own, [](Real a, Real b) { return a > b ? a : b; });
  }

 private:
  /// All lanes get the result; what lanes wrote to scratch before is then visible to all.
  template <class Combine>
  [[nodiscard]] __device__ Real over_all(Real own, Combine combine) {
    for (int distance = 16; distance > 0; distance /= 2) {
      own = combine(own, __shfl_xor_sync(0xffffffffU, own, distance));
    }
    __syncthreads();  // whoever still reads the last result
    if (threadIdx.x % 32 == 0) sums_[threadIdx.x / 32] = own;
    __syncthreads();
    Real out = sums_[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) out = combine(out, sums_[warp]);
    return out;
  }

  Real* sums_;
  Real* scratch_;
};

template <class Function>
__global__ void each_index(Function function, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += step) {
    function(i);
  }
}

template <class Real, class Function>
__global__ void each_team(Function function, std::int64_t count) {
  extern __shared__ __align__(16) unsigned char shared[];
  BlockTeam<Real> team{shared};
  for (std::int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    function(row, team);
    __syncthreads();  // before the next row overwrites what this one keeps
  }
}

template <class Real>
class GpuRunner {
 public:
  GpuRunner(const KernelLaunch& launch, cudaStream_t stream) : launch_{launch}, stream_{stream} {}

  template <class Function>
  bool each(const Function& function) {
    if (launch_.count == 0) return true;
    const std::int64_t blocks = std::min((launch_.count + kThreads - 1) / kThreads, kMostBlocks);
    each_index<<<static_cast<unsigned>(blocks), kThreads, 0, stream_>>>(function, launch_.count);
    check(cudaGetLastError(), [this] { return "launching " + launch_.name; });
    return true;
  }

  template <class Function>
  bool teams(const Function& function) {
    if (launch_.count == 0) return true;
    const std::int64_t blocks = std::min(launch_.count, kMostBlocks);
    const std::size_t shared = (32 + static_cast<std::size_t>(launch_.scratch)) * sizeof(Real);
    const auto text = [this, shared] {
      return "launching " + launch_.name + " with " + std::to_string(shared) +
             " bytes of shared memory";
    };
    constexpr std::size_t kPlain = 48 << 10;  // what every kernel may have unasked
    if (shared > kPlain) {
      check(cudaFuncSetAttribute(each_team<Real, Function>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared)),
            text);
    }
    each_team<Real, Function>
        <<<static_cast<unsigned>(blocks), kTeam, shared, stream_>>>(function, launch_.count);
    check(cudaGetLastError(), text);
    return true;
  }

 private:
  const KernelLaunch& launch_;
  cudaStream_t stream_;
};

template <class Real>
void launch_kernel(const KernelLaunch& launch, const kernels::Arguments& arguments,
                   cudaStream_t stream) {
  GpuRunner<Real> runner{launch, stream};
  if (kernels::dispatch<Real>(launch.function, arguments, runner)) return;
  throw DeviceError{launch.name + " has no kernel for a GPU"};
}

}  // namespace lockstep::cuda
