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

/// "; cp may be 1, 2, 4, or tp may be 1, 2": the values of each of cp, tp and pp for which some dp
/// fills `ranks` GPUs, the other two unchanged; empty if there are none. Degrees are at least 1.
[[nodiscard]] std::string admissible_degrees(const ParallelConfig& parallel, int ranks);

/// All reasons why `model` cannot be trained under `parallel` on `cluster_ranks` GPUs; empty if the
/// layout is possible. Later checks are skipped where an earlier one makes them meaningless.
[[nodiscard]] std::vector<LayoutProblem> layout_problems(const ModelConfig& model,
                                                         const ParallelConfig& parallel,
                                                         int cluster_ranks, int gpus_per_node);

}  // namespace lockstep
