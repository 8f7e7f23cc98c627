#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Reduce-scatter algorithms used by other files; each is documented in its own file. Pure
/// functions of n >= 1 ranks; with one rank the schedule is empty.
namespace lockstep::reduce_scatter {

[[nodiscard]] CollectiveCost recursive_halving_cost(int n);

}  // namespace lockstep::reduce_scatter
