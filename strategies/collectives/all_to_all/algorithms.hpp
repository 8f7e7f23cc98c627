#pragma once

#include "strategies/collectives/algorithm.hpp"

/// All-to-all algorithms used by other files; each is documented in its own file. Pure functions of
/// n >= 1 ranks; the result is in the output buffer. One rank only copies its block, for which
/// there is no closed form.
namespace lockstep::all_to_all {

[[nodiscard]] SchedulePtr make_pairwise(int n);
[[nodiscard]] std::optional<CollectiveCost> pairwise_cost(int n);

[[nodiscard]] SchedulePtr make_direct(int n);
[[nodiscard]] std::optional<CollectiveCost> direct_cost(int n);

[[nodiscard]] std::optional<CollectiveCost> bruck_cost(int n);

/// Requires `group` to divide n.
[[nodiscard]] SchedulePtr make_hierarchical(int n, int group);
[[nodiscard]] std::optional<CollectiveCost> hierarchical_cost(int n, int group);

}  // namespace lockstep::all_to_all
