#pragma once

#include <cstdint>

/// In what form training software lays a model's operations down. Software stacks
/// (configs/stacks) say it; the model's numbers are the same in all of them.
namespace lockstep {

/// What is kept of the logits from the loss to its gradient.
enum class LossForm : std::uint8_t {
  logits,       // themselves: kernels that widen them on the way keep no copy
  wide_logits,  // a copy in 32 bits
  wide_steps,   // likewise, and backward a tensor for each step: 12 bytes a logit at once
};

/// What a cast to 8 bits serves; else the product that it is made for alone.
struct Fp8Casts {
  bool inputs_once = false;   // inputs and gradients: both products of a microbatch that read them
  bool weights_once = false;  // all products of a step
};

struct ModelForm {
  LossForm loss = LossForm::logits;
  /// Whether products of one input (queries, keys and values; gate and up) are one kernel.
  bool joined_gemms = true;
  /// Whether doing a layer's forward pass again ends with the last tensor that backward reads.
  bool stops_early = false;
  /// Whether a transformer's output layer runs in 8 bits where its other linear layers do.
  bool fp8_output_layer = false;
  Fp8Casts fp8_casts{};
};

}  // namespace lockstep
