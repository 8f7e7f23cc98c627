#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/program/program.hpp"

/// The work of one operation on a rank's local shapes, as input of cost models.
namespace lockstep {

/// `times` times, on average, `batches` GEMMs of m * k by k * n.
struct SeriesGemm {
  double times = 1;
  std::int64_t batches = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  [[nodiscard]] double flops() const {
    return 2 * times * static_cast<double>(batches) * static_cast<double>(m) *
           static_cast<double>(n) * static_cast<double>(k);
  }
};

/// What a mask leaves of fused attention on one rank: of each head, of all sequences together.
struct MaskedAttention {
  std::int64_t heads = 1;
  std::vector<std::int64_t> runs{};  // adjacent queries of one document which see some of the keys
  double pairs = 0;                  // of a query and a key that it sees
  double queries = 0;                // of all runs
  double keys = 0;                   // that a run's queries see, of all runs
  std::int64_t most_keys = 0;        // of the query that sees most

  friend bool operator==(const MaskedAttention&, const MaskedAttention&) = default;
};

struct Kernel {
  OperationClass of = OperationClass::elementwise;
  OperationKind kind = OperationKind::fill;
  Dtype math = Dtype::bf16;  // of GEMMs
  /// FLOPs of the matrix units (2 per multiply-add); causal attention counts the lower triangle. 0
  /// for memory-bound kernels.
  double flops = 0;
  double moved_bytes = 0;  // read and written, each tensor once
  /// matmul: `batches` GEMMs of m * k by k * n. attention: batches = sequences * heads, m =
  /// queries, n = keys, k = head size. convolution: the equivalent GEMM.
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batches = 1;
  bool causal = false;
  VisibleKeys visible{};  // attention
  bool zigzag = false;    // attention of fewer queries than keys: a zigzag part, else the last ones
  std::optional<MaskedAttention> masked{};  // attention whose ranks have unequal work
  bool backward = false;
  bool bias = false;  // matmul: adds a bias to its result
  /// matmul: an activation function, dropout or addition reads its result next. dropout: an
  /// addition does. Software may make one kernel of both.
  bool read_elementwise = false;
  bool over_tokens = false;  // matmul: k consists of tokens only, as in weight gradients
  /// matmul: bytes of the weight gradients it accumulates into.
  double gradient_bytes = 0;
  /// Kernels and bytes of casts to at most 8 bits, Program::casts of each operand. matmul: of
  /// operands that are no tensors of that precision and were not cast for an earlier GEMM; cast: of
  /// its result, or of its weights as one operand.
  double cast_kernels = 0;
  double cast_bytes = 0;
  std::vector<SeriesGemm> series{};  // orthogonalize, precondition: kernels of their own
  bool fused_away = false;           // part of an earlier operation's kernel
};

/// The kernel of an operation. Communication and slices have no work: their class is communication
/// or copy. The first of several fused GEMMs (Operation::fused) has the work of all, as one kernel
/// as wide (n) or as deep (k) as all together; the others have none.
[[nodiscard]] Kernel kernel_of(const Program& program, const Routine& routine,
                               std::size_t operation);
/// The same for attention of which a mask leaves so much. Where ranks differ (AttentionLoads), the
/// kernel above is that of the busiest one in the first microbatch.
[[nodiscard]] Kernel kernel_of(const Program& program, const Routine& routine,
                               std::size_t operation, const MaskedAttention& masked);

}  // namespace lockstep
