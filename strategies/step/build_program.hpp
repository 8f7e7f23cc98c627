#pragma once

#include "sim/program/program.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// One training step of all ranks, as a program with one role for each kind of rank.
/// Requires a layout without layout_problems() (scenario/layout_problems.hpp); InternalError
/// otherwise.
[[nodiscard]] Program build_program(const ModelConfig& model, const ParallelConfig& parallel,
                                    int gpus_per_node);

}  // namespace lockstep
