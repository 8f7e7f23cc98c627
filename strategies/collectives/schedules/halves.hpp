#pragma once

#include "strategies/collectives/algorithm.hpp"

/// The two halves of an all-reduce among n ranks, for composition: a reduce-scatter after which
/// rank r has the sum of block r of n, and an all-gather that begins there.
namespace lockstep {

/// Which way round the ring the blocks go.
enum class RingWay { up, down };

/// n-1 rounds of one block each.
[[nodiscard]] SchedulePtr ring_reduce_scatter(int n, RingWay way = RingWay::up);
[[nodiscard]] SchedulePtr ring_all_gather(int n, RingWay way = RingWay::up);

/// One round of n-1 messages, in the order rank+1, rank+2, ... mod n.
[[nodiscard]] SchedulePtr direct_reduce_scatter(int n);
[[nodiscard]] SchedulePtr direct_all_gather(int n);

}  // namespace lockstep
