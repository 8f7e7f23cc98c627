#pragma once

#include "strategies/collectives/algorithm.hpp"
#include "strategies/collectives/chunk_count.hpp"

/// Reduce algorithms used by other files; each is documented in its own file. Pure functions of n
/// >= 1 ranks, 0 <= root < n and chunks >= 1; with one rank the schedule is empty.
namespace lockstep::reduce {

[[nodiscard]] PipelineRounds chain_rounds(int n);

}  // namespace lockstep::reduce
