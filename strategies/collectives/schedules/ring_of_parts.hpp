#pragma once

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// Parallel rings for collectives in which every rank has one part of the message: each ring
/// transfers the same slice of every part around the cycle of ring_order() for its channel, so that
/// channels cross nodes on different NICs. Chunks: n * channels blocks. `reduces`: a
/// reduce-scatter, in which rank r receives block r last; else an all-gather.
[[nodiscard]] SchedulePtr make_ring_of_parts(int n, int channels, const RankLayout& layout,
                                             bool reduces);

/// Estimate for rings that take turns on one port; rounds of short messages overlap.
[[nodiscard]] CollectiveCost ring_of_parts_estimate(int n, int channels, bool reduces);

/// Number of parallel rings; default 1.
[[nodiscard]] AlgorithmParameter ring_channels_parameter();

}  // namespace lockstep
