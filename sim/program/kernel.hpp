#pragma once

#include <cstdint>

#include "sim/program/program.hpp"

/// What a device has to do for one operation on the rank's local shapes.
namespace lockstep {

struct Kernel {
  OperationClass of = OperationClass::elementwise;
  OperationKind kind = OperationKind::fill;
  Dtype math = Dtype::bf16;  // of GEMMs
  /// Floating-point operations of the matrix units (2 per multiply and add); causal attention does
  /// only the lower triangle. 0 for what memory alone bounds.
  double flops = 0;
  double moved_bytes = 0;  // read and written, each tensor once
  /// matmul: `batches` GEMMs of m * k by k * n. attention: batches = sequences * heads, m =
  /// queries, n = keys, k = head size. convolution: as the GEMM that it amounts to.
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batches = 1;
  bool causal = false;
  VisibleKeys visible{};  // attention
  bool backward = false;
  bool bias = false;         // matmul: adds a bias to its result
  bool over_tokens = false;  // matmul: k is tokens alone, as of the gradient of a weight
  /// matmul: of the gradients of weights that it adds to.
  double gradient_bytes = 0;
  /// Operands that are cast for it, and their elements, where it is in 8 bits: of a matmul those
  /// that have not been cast for a GEMM before it; of a cast to 8 bits its weights, as one
  /// operand.
  int casts = 0;
  double numbers_to_cast = 0;
  bool fused_away = false;  // part of the kernel of an operation before it
};

/// Communication and slices are no kernels: their class is communication or copy, all else zero.
/// Of GEMMs that are fused (Operation::fused) the first has the work of all, in one kernel as
/// wide (n) or as deep (k) as all together; the others have none.
[[nodiscard]] Kernel kernel_of(const Program& program, const Routine& routine,
                               std::size_t operation);

}  // namespace lockstep
