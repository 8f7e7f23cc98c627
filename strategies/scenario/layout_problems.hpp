#pragma once

#include <string>
#include <vector>

#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// One reason why a parallel layout is impossible: the key at fault, and a sentence with its value
/// and the values that would be possible.
struct LayoutProblem {
  std::string key;  // "parallel.tp"
  std::string message;
};

/// All reasons why `model` cannot be trained under `parallel` on `cluster_ranks` GPUs; empty if the
/// layout is possible. Later checks are skipped where an earlier one makes them meaningless.
[[nodiscard]] std::vector<LayoutProblem> layout_problems(const ModelConfig& model,
                                                         const ParallelConfig& parallel,
                                                         int cluster_ranks, int gpus_per_node);

}  // namespace lockstep
