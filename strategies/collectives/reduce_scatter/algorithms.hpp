#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Every reduce-scatter: a function that makes its schedule, and its closed form. Each is described
/// in the file of its name. All are pure and take n >= 1 ranks; one rank alone has nothing to do.
namespace lockstep::reduce_scatter {

[[nodiscard]] SchedulePtr make_ring(int n);
[[nodiscard]] CollectiveCost ring_cost(int n);

[[nodiscard]] SchedulePtr make_recursive_halving(int n);
[[nodiscard]] CollectiveCost recursive_halving_cost(int n);

[[nodiscard]] SchedulePtr make_bruck(int n);
[[nodiscard]] CollectiveCost bruck_cost(int n);

[[nodiscard]] SchedulePtr make_direct(int n);
[[nodiscard]] CollectiveCost direct_cost(int n);

[[nodiscard]] SchedulePtr make_pat(int n);
[[nodiscard]] CollectiveCost pat_cost(int n);

}  // namespace lockstep::reduce_scatter
