#pragma once

#include <cstdint>

/// How training software structures a model's operations, set by a software stack (configs/stacks);
/// numerical results are the same in all forms.
namespace lockstep {

/// What is kept of the logits between loss and gradient.
enum class LossForm : std::uint8_t {
  logits,       // the logits; kernels widen them without a copy
  wide_logits,  // an fp32 copy
  wide_steps,   // an fp32 copy, and in backward one tensor per step: 12 bytes per logit
};

/// Where the router's weights are multiplied.
enum class RouterWeights : std::uint8_t {
  results,  // into the experts' results, which backward then reads: they are kept
  /// Into the result of the experts' activation function; they travel with the tokens. With biases
  /// as `results`: the bias of the last GEMM would have to be weighted too.
  activation,
};

struct ModelForm {
  LossForm loss = LossForm::logits;
  /// Whether GEMMs of one input (queries, keys and values; gate and up) are one kernel.
  bool joined_gemms = true;
  /// Whether recomputation of a layer ends with the last tensor that backward reads.
  bool stops_early = false;
  RouterWeights router_weights = RouterWeights::results;
  /// Whether tensor parallelism moves tensors as PyTorch's DTensor does: what is gathered for a
  /// GEMM is kept for the gradient of its weight, and what is gathered or scattered along another
  /// dimension than the first is copied.
  bool distributed_tensors = false;
};

}  // namespace lockstep
