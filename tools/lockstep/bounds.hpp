#pragma once

#include <span>

#include "strategies/collectives/collective_bound.hpp"
#include "tools/lockstep/arena.hpp"

namespace lockstep::cli {

/// A collective as it is played on an arena.
struct BoundCase {
  Collective collective = Collective::all_reduce;
  std::span<const EndpointId> members;  // all ranks, then `helpers`
  Helpers helpers = Helpers::none;
  int root = 0;
  int distance = 1;  // send_recv's
};

/// What no schedule can beat on the arena's cluster: the one bound that every command prints.
/// `network` is the arena's, or that with other figures.
[[nodiscard]] CollectiveBound bound_on(const Arena& arena, const Network& network,
                                       const BoundCase& played);

/// "bisection": what the largest term of a bound comes from.
[[nodiscard]] std::string source_of(const LowerBound& bound);

}  // namespace lockstep::cli
