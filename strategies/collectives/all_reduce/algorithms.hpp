#pragma once

#include "strategies/collectives/algorithm.hpp"

/// All-reduce algorithms used by other files; each is documented in its own file. Pure functions of
/// n >= 1 ranks that hold data; with one rank the schedule is empty.
namespace lockstep {

[[nodiscard]] SchedulePtr make_direct(int n);

/// One channel, ranks in order.
[[nodiscard]] SchedulePtr make_plain_ring(int n);
[[nodiscard]] SchedulePtr make_ring(int n, int channels, const RankLayout& layout);
/// For channels that share a port; rounds of short messages do not overlap.
[[nodiscard]] CollectiveCost ring_estimate(int n, int channels);

[[nodiscard]] CollectiveCost recursive_doubling_cost(int n);

[[nodiscard]] CollectiveCost halving_doubling_cost(int n);

}  // namespace lockstep
