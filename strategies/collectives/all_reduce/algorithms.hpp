#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Functions of all-reduce algorithms that other files use; each is described in the file of its
/// name. Algorithms are pure and take n >= 1 ranks that hold data; one rank alone has nothing to
/// do.
namespace lockstep {

[[nodiscard]] SchedulePtr make_direct(int n);

/// One channel, the ranks in order.
[[nodiscard]] SchedulePtr make_plain_ring(int n);
[[nodiscard]] SchedulePtr make_ring(int n, int channels, const RankLayout& layout);
/// Where channels share a port and a short message's rounds do not overlap.
[[nodiscard]] CollectiveCost ring_estimate(int n, int channels);

[[nodiscard]] CollectiveCost recursive_doubling_cost(int n);

[[nodiscard]] CollectiveCost halving_doubling_cost(int n);

}  // namespace lockstep
