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

struct ModelForm {
  LossForm loss = LossForm::logits;
  /// Whether products of one input (queries, keys and values; gate and up) are one kernel.
  bool joined_products = true;
  /// Whether doing a layer's forward pass again ends with the last tensor that backward reads.
  bool stops_early = false;
};

}  // namespace lockstep
