#pragma once

#include "strategies/collectives/algorithm.hpp"
#include "strategies/collectives/chunk_count.hpp"

/// Functions of reduce algorithms that other files use; each is described in the file of its name.
/// Algorithms are pure and take n >= 1 ranks, 0 <= root < n, chunks >= 1; one rank alone has
/// nothing to do.
namespace lockstep::reduce {

[[nodiscard]] PipelineRounds chain_rounds(int n);

}  // namespace lockstep::reduce
