#pragma once

#include <string>
#include <string_view>

#include "sim/program/tensor.hpp"

namespace lockstep {

/// Criteria for choosing a software stack.
struct StackCriteria {
  std::string_view kernels{};     // Device::kernels, e.g. "hopper"; empty: none
  Dtype precision = Dtype::bf16;  // of linear layers
  int zero = 0;                   // ZeRO stage
  bool transformer = true;        // the model is a transformer
};

/// A software stack (configs/stacks) and the reason for it.
struct DefaultStack {
  std::string id;
  std::string reason;  // "Megatron-Core with Transformer Engine on NVIDIA GPUs since Ampere"
};

/// The software stack of a scenario that names none: current software for the device and precision,
/// among the stacks of validated runs (configs/validation).
[[nodiscard]] DefaultStack default_stack(const StackCriteria& criteria);

}  // namespace lockstep
