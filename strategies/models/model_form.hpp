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

/// How long an fp8 cast is reused; by default for a single GEMM.
struct Fp8Casts {
  bool inputs_once = false;   // inputs and gradients: for both GEMMs of a microbatch that read them
  bool weights_once = false;  // for all GEMMs of a step
};

struct ModelForm {
  LossForm loss = LossForm::logits;
  /// Whether GEMMs of one input (queries, keys and values; gate and up) are one kernel.
  bool joined_gemms = true;
  /// Whether recomputation of a layer ends with the last tensor that backward reads.
  bool stops_early = false;
  /// Whether the output layer runs in fp8 when other linear layers do.
  bool fp8_output_layer = false;
  Fp8Casts fp8_casts{};
};

}  // namespace lockstep
