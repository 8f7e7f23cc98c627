#pragma once

#include "strategies/collectives/algorithm.hpp"
#include "strategies/collectives/chunk_count.hpp"

/// Every broadcast: a function that makes its schedule, and its closed form. Each is described in
/// the file of its name. All are pure and take n >= 1 ranks, 0 <= root < n, chunks >= 1; one rank
/// alone has nothing to do.
namespace lockstep::broadcast {

[[nodiscard]] SchedulePtr make_flat(int n, int root);
[[nodiscard]] CollectiveCost flat_cost(int n);

[[nodiscard]] SchedulePtr make_binomial(int n, int root);
[[nodiscard]] CollectiveCost binomial_cost(int n);

[[nodiscard]] SchedulePtr make_chain(int n, int root, std::int64_t chunks);
[[nodiscard]] CollectiveCost chain_cost(int n, std::int64_t chunks);
[[nodiscard]] PipelineRounds chain_rounds(int n);

[[nodiscard]] SchedulePtr make_binary_tree(int n, int root, std::int64_t chunks);
[[nodiscard]] CollectiveCost binary_tree_cost(int n, std::int64_t chunks);
[[nodiscard]] PipelineRounds binary_tree_rounds(int n);

/// How the scattered blocks come together again.
[[nodiscard]] SchedulePtr make_scatter_ring(int n, int root);
[[nodiscard]] CollectiveCost scatter_ring_cost(int n);
[[nodiscard]] SchedulePtr make_scatter_doubling(int n, int root);
[[nodiscard]] CollectiveCost scatter_doubling_cost(int n);

}  // namespace lockstep::broadcast
