#pragma once

#include <string>
#include <vector>

#include "sim/program/program.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// Why this model cannot be spread so over a cluster, one sentence each that says what would be
/// possible; empty where it can.
struct LayoutProblem {
  std::string key;  // "parallel.tp"
  std::string message;
};
[[nodiscard]] std::vector<LayoutProblem> layout_problems(const ModelConfig& model,
                                                         const ParallelConfig& parallel,
                                                         int cluster_ranks, int gpus_per_node);

/// The training step of all ranks. Errors: InternalError where layout_problems() has something.
[[nodiscard]] Program build_program(const ModelConfig& model, const ParallelConfig& parallel,
                                    int gpus_per_node);

}  // namespace lockstep
