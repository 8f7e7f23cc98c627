#pragma once

#include <optional>

#include "strategies/collectives/algorithm.hpp"
#include "strategies/collectives/chunk_count.hpp"

namespace lockstep {

/// The rounds of a pipeline whose number of chunks the algorithm chooses; empty if it does not
/// choose one. Requires a valid `input`.
[[nodiscard]] std::optional<PipelineRounds> pipeline_rounds(const CollectiveAlgorithm& algorithm,
                                                            const AlgorithmInput& input);

}  // namespace lockstep
