#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Functions of all-gather algorithms that other files use; each is described in the file of its
/// name. Algorithms are pure and take n >= 1 ranks; one rank alone has nothing to do.
namespace lockstep::all_gather {

[[nodiscard]] CollectiveCost recursive_doubling_cost(int n);

[[nodiscard]] SchedulePtr make_bruck(int n);

/// n is 1 or even.
[[nodiscard]] SchedulePtr make_neighbour_exchange(int n);

[[nodiscard]] SchedulePtr make_pat(int n);

}  // namespace lockstep::all_gather
