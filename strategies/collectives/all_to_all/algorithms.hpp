#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Functions of all-to-all algorithms that other files use; each is described in the file of its
/// name. Algorithms are pure and take n >= 1 ranks; the result lies in the output buffer. One rank
/// alone only copies its block, for which there is no closed form.
namespace lockstep::all_to_all {

[[nodiscard]] SchedulePtr make_pairwise(int n);
[[nodiscard]] std::optional<CollectiveCost> pairwise_cost(int n);

[[nodiscard]] std::optional<CollectiveCost> direct_cost(int n);

[[nodiscard]] std::optional<CollectiveCost> bruck_cost(int n);

/// `group` divides n.
[[nodiscard]] SchedulePtr make_hierarchical(int n, int group);
[[nodiscard]] std::optional<CollectiveCost> hierarchical_cost(int n, int group);

}  // namespace lockstep::all_to_all
