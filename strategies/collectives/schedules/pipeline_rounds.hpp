#pragma once

#include "strategies/collectives/algorithm.hpp"
#include "strategies/collectives/chunk_count.hpp"

namespace lockstep {

/// Rounds of pipelines, from which they choose their number of chunks.
[[nodiscard]] PipelineRounds binary_tree_rounds(const AlgorithmInput& input);
[[nodiscard]] PipelineRounds double_binary_tree_rounds(const AlgorithmInput& input);
[[nodiscard]] PipelineRounds nvls_rounds(const AlgorithmInput& input);
[[nodiscard]] PipelineRounds sharp_rounds(const AlgorithmInput& input);

}  // namespace lockstep
