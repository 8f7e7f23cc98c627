#pragma once

#include <cstdint>

#include "strategies/models/model_config.hpp"

namespace lockstep {

/// What stages divide: the layers of an encoder and of a decoder together, a ResNet's blocks.
[[nodiscard]] std::int64_t layers_of(const ModelConfig& model);

}  // namespace lockstep
