#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Scatter algorithms used by other files; each is documented in its own file. Pure functions of n
/// >= 1 ranks and 0 <= root < n; with one rank the schedule is empty.
namespace lockstep::scatter {

[[nodiscard]] SchedulePtr make_direct(int n, int root);
[[nodiscard]] CollectiveCost direct_cost(int n);

}  // namespace lockstep::scatter
