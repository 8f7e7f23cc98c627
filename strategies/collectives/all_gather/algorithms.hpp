#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Every all-gather: a function that makes its schedule, and its closed form. Each is described in
/// the file of its name. All are pure and take n >= 1 ranks; one rank alone has nothing to do.
namespace lockstep::all_gather {

[[nodiscard]] SchedulePtr make_ring(int n);
[[nodiscard]] CollectiveCost ring_cost(int n);

[[nodiscard]] SchedulePtr make_recursive_doubling(int n);
[[nodiscard]] CollectiveCost recursive_doubling_cost(int n);

[[nodiscard]] SchedulePtr make_bruck(int n);
[[nodiscard]] CollectiveCost bruck_cost(int n);

[[nodiscard]] SchedulePtr make_direct(int n);
[[nodiscard]] CollectiveCost direct_cost(int n);

/// n is 1 or even.
[[nodiscard]] SchedulePtr make_neighbour_exchange(int n);
[[nodiscard]] CollectiveCost neighbour_exchange_cost(int n);

[[nodiscard]] SchedulePtr make_pat(int n);
[[nodiscard]] CollectiveCost pat_cost(int n);

}  // namespace lockstep::all_gather
