#pragma once

#include "strategies/collectives/algorithm.hpp"
#include "strategies/collectives/chunk_count.hpp"

/// Broadcast algorithms used by other files; each is documented in its own file. Pure functions of
/// n >= 1 ranks, 0 <= root < n and chunks >= 1; with one rank the schedule is empty.
namespace lockstep::broadcast {

[[nodiscard]] SchedulePtr make_binomial(int n, int root);

[[nodiscard]] PipelineRounds chain_rounds(int n);

[[nodiscard]] CollectiveCost binary_tree_cost(int n, std::int64_t chunks);
[[nodiscard]] PipelineRounds binary_tree_rounds(int n);

}  // namespace lockstep::broadcast
