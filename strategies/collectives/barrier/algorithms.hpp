#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Every barrier: a function that makes its schedule, and its closed form. Each is described in the
/// file of its name. Messages are empty: only that they came says something. All are pure and take
/// n >= 1 ranks; one rank alone has nothing to do.
namespace lockstep::barrier {

inline constexpr Chunk kNoBlocks{Buffer::data, 0, 0};

[[nodiscard]] SchedulePtr make_flat(int n);
[[nodiscard]] CollectiveCost flat_cost(int n);

[[nodiscard]] SchedulePtr make_binomial(int n);
[[nodiscard]] CollectiveCost binomial_cost(int n);

[[nodiscard]] SchedulePtr make_dissemination(int n);
[[nodiscard]] CollectiveCost dissemination_cost(int n);

}  // namespace lockstep::barrier
