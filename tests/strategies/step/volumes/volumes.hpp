#pragma once

#include "sim/program/kernel/kernel.hpp"
#include "strategies/models/count/count.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// A small transformer whose traffic has closed forms. Symbols: s sequence, b sequences of a
/// microbatch on one data-parallel rank, h hidden, d head size, V vocabulary, L layers, M
/// microbatches, P parameters, t = tp, n = the group. Activations and weights are bf16: 2 bytes. A
/// message is what the contract counts: the larger of what a rank sends and receives.
namespace lockstep::test::volumes {

inline constexpr std::int64_t kS = 64;
inline constexpr std::int64_t kH = 64;
inline constexpr std::int64_t kLayers = 4;
inline constexpr std::int64_t kV = 256;
inline constexpr std::int64_t kB = 2;
inline constexpr std::int64_t kM = 3;

/// 2sbh bytes: the residual stream of a microbatch.
inline constexpr std::int64_t kStream = 2 * kS * kB * kH;

[[nodiscard]] inline TransformerConfig shape() {
  TransformerConfig out;
  out.layers = kLayers;
  out.hidden = kH;
  out.heads = 8;
  out.sequence = kS;
  out.vocabulary = kV;
  return out;
}

/// With 8 experts of 2h in every layer, of which a token visits 2.
[[nodiscard]] inline TransformerConfig routed() {
  TransformerConfig out = shape();
  out.experts = ExpertsConfig{};
  out.experts->experts = 8;
  out.experts->top_k = 2;
  out.experts->ffn = 2 * kH;
  return out;
}

[[nodiscard]] inline ParallelConfig layout(std::int64_t dp = 1) {
  ParallelConfig out;
  out.dp = static_cast<int>(dp);
  out.micro_batch = kB;
  out.global_batch = kB * kM * dp;
  return out;
}

[[nodiscard]] inline ParallelConfig layout(std::int64_t dp, int zero, Optimizer optimizer) {
  ParallelConfig out = layout(dp);
  out.zero = zero;
  out.state.optimizer = optimizer;
  return out;
}

/// Of a rank's operations of one kind.
[[nodiscard]] inline double flops_of(const TrainingStepUnderTest& step, OperationKind kind) {
  double out = 0;
  for (const RoleOperation& each : step.role().operations) {
    if (each.operation->kind != kind) continue;
    const Routine& routine = step.program().routines[each.call.routine];
    out += kernel_of(step.program(), routine, each.index_in_routine).flops;
  }
  return out;
}

/// Optimizer states on a rank.
[[nodiscard]] inline std::int64_t state_bytes(const TrainingStepUnderTest& step) {
  std::int64_t out = 0;
  for (const TensorInstance& each : step.role().instances) {
    const Tensor& tensor = step.program().tensors[each.tensor];
    if (tensor.category == Category::optimizer_state)
      out += local_bytes(step.mesh(), tensor).count();
  }
  return out;
}

[[nodiscard]] inline std::int64_t parameters(const ModelConfig& model) {
  return count_parameters(model).total();
}

}  // namespace lockstep::test::volumes
