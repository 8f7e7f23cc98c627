#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Functions of barrier algorithms that other files use; each is described in the file of its name.
/// Messages are empty: only their arrival counts. Algorithms are pure and take n >= 1 ranks; one
/// rank alone has nothing to do.
namespace lockstep::barrier {

inline constexpr Chunk kNoBlocks{Buffer::data, 0, 0};

[[nodiscard]] CollectiveCost flat_cost(int n);

[[nodiscard]] CollectiveCost binomial_cost(int n);

[[nodiscard]] SchedulePtr make_dissemination(int n);
[[nodiscard]] CollectiveCost dissemination_cost(int n);

}  // namespace lockstep::barrier
