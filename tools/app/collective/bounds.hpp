#pragma once

#include <span>

#include "strategies/collectives/bounds/collective_bound.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"

namespace lockstep::app {

/// A collective as it is played on a setup.
struct BoundCase {
  Collective collective = Collective::all_reduce;
  std::span<const EndpointId> members;  // all ranks, then `auxiliary_ranks`
  AuxiliaryRanks auxiliary_ranks = AuxiliaryRanks::none;
  int root = 0;
  int distance = 1;  // send_recv's
};

/// What no schedule can beat on the setup's cluster: the one bound that every command prints.
/// `network` is the setup's, or that with other figures.
[[nodiscard]] CollectiveBound bound_on(const CollectiveSetup& setup, const Network& network,
                                       const BoundCase& played);

/// "bisection": what the largest term of a bound comes from.
[[nodiscard]] std::string source_of(const LowerBound& bound);

}  // namespace lockstep::app
