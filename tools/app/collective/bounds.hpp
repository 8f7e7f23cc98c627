#pragma once

#include <span>

#include "strategies/collectives/bounds/collective_bound.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"

namespace lockstep::app {

/// A collective to be bounded on a setup.
struct BoundCase {
  Collective collective = Collective::all_reduce;
  std::span<const EndpointId> members;  // all ranks, then `auxiliary_ranks`
  AuxiliaryRanks auxiliary_ranks = AuxiliaryRanks::none;
  int root = 0;
  int distance = 1;  // of send_recv
};

/// The lower bound of a collective on the setup's cluster, used by all commands. `network`: the
/// setup's, or a variant with other link parameters.
[[nodiscard]] CollectiveBound bound_on(const CollectiveSetup& setup, const Network& network,
                                       const BoundCase& of);

/// The source of a bound's largest term, e.g. "bisection".
[[nodiscard]] std::string source_of(const LowerBound& bound);

}  // namespace lockstep::app
