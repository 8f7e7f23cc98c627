#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Every scatter: a function that makes its schedule, and its closed form. Each is described in the
/// file of its name. All are pure and take n >= 1 ranks, 0 <= root < n; one rank alone has nothing
/// to do.
namespace lockstep::scatter {

[[nodiscard]] SchedulePtr make_flat(int n, int root);
[[nodiscard]] CollectiveCost flat_cost(int n);

[[nodiscard]] SchedulePtr make_direct(int n, int root);
[[nodiscard]] CollectiveCost direct_cost(int n);

[[nodiscard]] SchedulePtr make_binomial(int n, int root);
[[nodiscard]] CollectiveCost binomial_cost(int n);

}  // namespace lockstep::scatter
