#pragma once

#include "strategies/collectives/algorithm.hpp"
#include "strategies/collectives/chunk_count.hpp"

/// Every reduce: a function that makes its schedule, and its closed form. Each is described in the
/// file of its name. All are pure and take n >= 1 ranks, 0 <= root < n, chunks >= 1; one rank alone
/// has nothing to do.
namespace lockstep::reduce {

[[nodiscard]] SchedulePtr make_flat(int n, int root);
[[nodiscard]] CollectiveCost flat_cost(int n);

[[nodiscard]] SchedulePtr make_binomial(int n, int root);
[[nodiscard]] CollectiveCost binomial_cost(int n);

[[nodiscard]] SchedulePtr make_chain(int n, int root, std::int64_t chunks);
[[nodiscard]] CollectiveCost chain_cost(int n, std::int64_t chunks);
[[nodiscard]] PipelineRounds chain_rounds(int n);

[[nodiscard]] SchedulePtr make_reduce_scatter_gather(int n, int root);
[[nodiscard]] CollectiveCost reduce_scatter_gather_cost(int n);

}  // namespace lockstep::reduce
