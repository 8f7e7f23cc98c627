#pragma once

#include "strategies/collectives/algorithm.hpp"

/// The halves of an all-reduce among n ranks, for composition: a reduce-scatter that leaves the sum
/// of block r on rank r, and an all-gather from there.
namespace lockstep {

/// Direction of blocks around the ring.
enum class RingWay { up, down };

/// n-1 rounds of one block each.
[[nodiscard]] SchedulePtr ring_reduce_scatter(int n, RingWay way = RingWay::up);
[[nodiscard]] SchedulePtr ring_all_gather(int n, RingWay way = RingWay::up);

/// One round of n-1 messages, in the order rank+1, rank+2, ... mod n.
[[nodiscard]] SchedulePtr direct_reduce_scatter(int n);
[[nodiscard]] SchedulePtr direct_all_gather(int n);

}  // namespace lockstep
