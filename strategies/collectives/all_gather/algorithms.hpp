#pragma once

#include "strategies/collectives/algorithm.hpp"

/// All-gather algorithms used by other files; each is documented in its own file. Pure functions of
/// n >= 1 ranks; with one rank the schedule is empty.
namespace lockstep::all_gather {

[[nodiscard]] CollectiveCost recursive_doubling_cost(int n);

[[nodiscard]] SchedulePtr make_direct(int n);
[[nodiscard]] CollectiveCost direct_cost(int n);

[[nodiscard]] SchedulePtr make_bruck(int n);

/// Requires n to be 1 or even.
[[nodiscard]] SchedulePtr make_neighbour_exchange(int n);

[[nodiscard]] SchedulePtr make_pat(int n);

}  // namespace lockstep::all_gather
