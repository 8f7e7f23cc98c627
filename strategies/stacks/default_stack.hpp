#pragma once

#include <string>
#include <string_view>

#include "sim/program/tensor.hpp"

namespace lockstep {

/// What the choice of a software stack depends on.
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

/// The software stack of a scenario that names none: current software for that device and
/// precision, of the stacks with which validated runs (configs/validation) were simulated.
[[nodiscard]] DefaultStack default_stack(const StackCriteria& criteria);

}  // namespace lockstep
