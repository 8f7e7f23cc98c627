#include "sim/execute/cuda/cuda_gemms.hpp"

#include <algorithm>
#include <optional>

namespace lockstep::cuda {

namespace {

using kernels::Arguments;
using kernels::Values;

[[nodiscard]] cudaDataType_t type_of(NumberType type) {
  switch (type) {
    case NumberType::fp64:
      return CUDA_R_64F;
    case NumberType::fp32:
      return CUDA_R_32F;
    case NumberType::bf16:
      return CUDA_R_16BF;
    case NumberType::fp16:
      break;
  }
  return CUDA_R_16F;
}

/// A matrix as cuBLAS, which knows columns, sees one that is given by rows: rows stand `leading`
/// apart, or columns do and it is transposed.
struct CublasOperand {
  cublasOperation_t operation = CUBLAS_OP_N;
  int leading = 1;
};

[[nodiscard]] CublasOperand cublas_operand(std::int64_t rows, std::int64_t columns,
                                           std::int64_t by_row, std::int64_t by_column) {
  if (by_column == 1 && (by_row >= columns || rows == 1)) {
    return {CUBLAS_OP_N, static_cast<int>(std::max(by_row, std::max<std::int64_t>(1, columns)))};
  }
  return {CUBLAS_OP_T, static_cast<int>(std::max(by_column, std::max<std::int64_t>(1, rows)))};
}

/// Batches begin equally far apart.
[[nodiscard]] std::optional<long long> stride_of(const KernelLaunch::Table& begins) {
  if (begins.size() < 2) return 0;
  const std::int64_t stride = begins[1] - begins[0];
  for (std::size_t i = 1; i < begins.size(); ++i) {
    if (begins[i] - begins[i - 1] != stride) return std::nullopt;
  }
  return stride;
}

[[nodiscard]] void* at(const Values& values, std::int64_t first) {
  return static_cast<std::byte*>(values.data) + first * bytes_of(values.type);
}

}  // namespace

CublasGemms::CublasGemms(int devices) {
  for (int device = 0; device < devices; ++device) {
    const OnDevice here{device};
    cublasHandle_t handle = nullptr;
    check(cublasCreate(&handle),
          [device] { return fmt::format("starting cuBLAS on GPU {}", device); });
    handles_.push_back(handle);
  }
}

CublasGemms::~CublasGemms() {
  for (cublasHandle_t handle : handles_) (void)cublasDestroy(handle);
}

bool CublasGemms::has(const Arguments& a) {
  const NumberType type = a.in[0].type;
  if (a.in[1].type != type) return false;
  return a.out[0].type == type || (bytes_of(type) == 2 && a.out[0].type == NumberType::fp32);
}

/// y by rows is its transpose by columns: y^T = b^T a^T. Where y's columns stand together instead,
/// the GEMM is y = a b as it is.
void CublasGemms::run(const KernelLaunch& launch, const Arguments& a, const Stream& stream,
                      const Memory& workspace) {
  const std::int64_t m = a.size[0];
  const std::int64_t n = a.size[1];
  const std::int64_t k = a.size[2];
  if (m == 0 || n == 0) return;
  const auto text = [&] {
    return fmt::format("multiplying {} ({} x {} x {}, {})", launch.name, m, n, k,
                       to_string(a.in[0].type));
  };
  cublasHandle_t handle = handles_[static_cast<std::size_t>(stream.device())];
  check(cublasSetStream(handle, stream.get()), text);
  check(cublasSetWorkspace(handle, workspace.data(), kWorkspace), text);
  const CublasOperand left = cublas_operand(m, k, a.size[4], a.size[5]);
  const CublasOperand right = cublas_operand(k, n, a.size[6], a.size[7]);
  const CublasOperand result = cublas_operand(m, n, a.size[8], a.size[9]);
  const bool by_rows = result.operation == CUBLAS_OP_N;
  const auto flipped = [](cublasOperation_t of) {
    return of == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  const bool in_doubles = a.out[0].type == NumberType::fp64;
  const double factor = a.number[0];
  const double rest = a.adds_to(0) ? 1 : 0;
  const auto factor_float = static_cast<float>(factor);
  const float rest_float = a.adds_to(0) ? 1 : 0;
  const void* alpha = in_doubles ? static_cast<const void*>(&factor) : &factor_float;
  const void* beta = in_doubles ? static_cast<const void*>(&rest) : &rest_float;
  const cublasComputeType_t compute = in_doubles ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
  // Batches begin at the launch's own tables: those of `a` lie on the GPU.
  const KernelLaunch::Table& in_a = *launch.tables[0];
  const KernelLaunch::Table& in_b = *launch.tables[1];
  const KernelLaunch::Table& in_y = *launch.tables[2];
  const auto step_a = stride_of(in_a);
  const auto step_b = stride_of(in_b);
  const auto step_y = stride_of(in_y);
  const bool at_once = step_a && step_b && step_y;
  const std::size_t calls = at_once ? 1 : in_y.size();
  const int batches = at_once ? static_cast<int>(in_y.size()) : 1;
  for (std::size_t i = 0; i < calls; ++i) {
    const void* x = at(a.in[0], in_a[i]);
    const void* y = at(a.in[1], in_b[i]);
    void* z = at(a.out[0], in_y[i]);
    const long long by_a = at_once ? *step_a : 0;
    const long long by_b = at_once ? *step_b : 0;
    const long long by_y = at_once ? *step_y : 0;
    if (by_rows) {
      check(cublasGemmStridedBatchedEx(
                handle, right.operation, left.operation, static_cast<int>(n), static_cast<int>(m),
                static_cast<int>(k), alpha, y, type_of(a.in[1].type), right.leading, by_b, x,
                type_of(a.in[0].type), left.leading, by_a, beta, z, type_of(a.out[0].type),
                result.leading, by_y, batches, compute, CUBLAS_GEMM_DEFAULT),
            text);
    } else {
      check(cublasGemmStridedBatchedEx(handle, flipped(left.operation), flipped(right.operation),
                                       static_cast<int>(m), static_cast<int>(n),
                                       static_cast<int>(k), alpha, x, type_of(a.in[0].type),
                                       left.leading, by_a, y, type_of(a.in[1].type), right.leading,
                                       by_b, beta, z, type_of(a.out[0].type), result.leading, by_y,
                                       batches, compute, CUBLAS_GEMM_DEFAULT),
            text);
    }
  }
}

}  // namespace lockstep::cuda
