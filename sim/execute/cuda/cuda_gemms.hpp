#pragma once

#include <memory>
#include <vector>

#include "sim/execute/cuda/cuda_memory.hpp"
#include "sim/execute/device_kernels/arguments.hpp"
#include "sim/execute/device_kernels/kernel_launch.hpp"

namespace lockstep::cuda {

/// Products of matrices by cuBLAS, a handle per GPU.
class CublasGemms {
 public:
  explicit CublasGemms(int devices);
  ~CublasGemms();
  CublasGemms(const CublasGemms&) = delete;
  CublasGemms& operator=(const CublasGemms&) = delete;

  /// Where cuBLAS may work, for each stream its own: so that captured GEMMs of several streams
  /// share nothing.
  static constexpr std::size_t kWorkspace = std::size_t{32} << 20;

  /// Whether cuBLAS has this GEMM: both operands of the result's type, or of 16 bits with a
  /// result in fp32.
  [[nodiscard]] static bool has(const kernels::Arguments& arguments);
  /// Errors: DeviceError with the operation's name and shape.
  void run(const KernelLaunch& launch, const kernels::Arguments& arguments, const Stream& stream,
           const Memory& workspace);

 private:
  std::vector<cublasHandle_t> handles_{};
};

}  // namespace lockstep::cuda
