#pragma once

#include <memory>
#include <vector>

#include "sim/execute/cuda/cuda_memory.hpp"
#include "sim/execute/device_kernels/arguments.hpp"
#include "sim/execute/device_kernels/kernel_launch.hpp"

namespace lockstep::cuda {

/// GEMMs by cuBLAS, one handle per GPU.
class CublasGemms {
 public:
  explicit CublasGemms(int devices);
  ~CublasGemms();
  CublasGemms(const CublasGemms&) = delete;
  CublasGemms& operator=(const CublasGemms&) = delete;

  /// Workspace of cuBLAS per stream, so that captured GEMMs of different streams are independent.
  static constexpr std::size_t kWorkspace = std::size_t{32} << 20;

  /// Whether cuBLAS supports this GEMM: operands of the result's type, or 16-bit operands with an
  /// fp32 result.
  [[nodiscard]] static bool has(const kernels::Arguments& arguments);
  /// Throws DeviceError with the operation's name and shape.
  void run(const KernelLaunch& launch, const kernels::Arguments& arguments, const Stream& stream,
           const Memory& workspace);

 private:
  std::vector<cublasHandle_t> handles_{};
};

}  // namespace lockstep::cuda
