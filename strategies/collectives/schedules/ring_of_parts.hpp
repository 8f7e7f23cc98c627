#pragma once

#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// Several rings side by side, for collectives in which every rank has a part of the message: each
/// ring takes the same slice of every part, round the cycle of ring_order() for its channel, so
/// that in nodes it crosses on other NICs. Chunks: n * channels blocks. `reduces`: a
/// reduce-scatter, in which block r comes to rank r last; else an all-gather.
[[nodiscard]] SchedulePtr make_ring_of_parts(int n, int channels, const RankLayout& layout,
                                             bool reduces);

/// As if the rings took turns round by round on one port: short messages' rounds overlap.
[[nodiscard]] CollectiveCost ring_of_parts_estimate(int n, int channels, bool reduces);

/// How many rings side by side; 1 where it is not given.
[[nodiscard]] AlgorithmParameter ring_channels_parameter();

}  // namespace lockstep
