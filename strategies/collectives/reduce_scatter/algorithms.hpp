#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Functions of reduce-scatter algorithms that other files use; each is described in the file of
/// its name. Algorithms are pure and take n >= 1 ranks; one rank alone has nothing to do.
namespace lockstep::reduce_scatter {

[[nodiscard]] CollectiveCost recursive_halving_cost(int n);

}  // namespace lockstep::reduce_scatter
