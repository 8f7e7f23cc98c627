#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Barrier algorithms used by other files; each is documented in its own file. Messages are empty.
/// Pure functions of n >= 1 ranks; with one rank the schedule is empty.
namespace lockstep::barrier {

inline constexpr Chunk kNoBlocks{Buffer::data, 0, 0};

[[nodiscard]] CollectiveCost flat_cost(int n);

[[nodiscard]] CollectiveCost binomial_cost(int n);

[[nodiscard]] SchedulePtr make_dissemination(int n);
[[nodiscard]] CollectiveCost dissemination_cost(int n);

}  // namespace lockstep::barrier
