#pragma once

#include <vector>

#include "strategies/layout/parallel_config.hpp"

namespace lockstep {

/// The passes of one stage over all microbatches, by chunk of the stage.
struct StagePassCounts {
  /// A forward pass of one chunk in turn with a backward pass of another microbatch.
  struct Pair {
    int forward = 0;   // chunk
    int backward = 0;  // chunk
    int times = 0;
  };
  std::vector<int> forward{};   // those that do not go in turn with others
  std::vector<int> backward{};  // the same
  std::vector<Pair> pairs{};
  bool ends_in_pair = false;  // whether the last backward pass is one of a pair
  /// Microbatches held at the time of the most of them. A pair counts when it is done: its passes
  /// free and fill layer by layer.
  std::vector<int> held{};

  [[nodiscard]] int paired_backward(int chunk) const;
};

/// Of each stage. Requires no pipeline_problem().
[[nodiscard]] std::vector<StagePassCounts> passes_of_stages(const ParallelConfig& parallel);

/// Whether a pipeline sends messages between a chunk of the model and the next (model_chunk()).
[[nodiscard]] bool sends_between(const ParallelConfig& parallel, int model_chunk);

}  // namespace lockstep
