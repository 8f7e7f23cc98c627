#pragma once

#include <vector>

#include "strategies/collectives/bounds/collective_bound.hpp"
#include "tools/app/explain/explain_cost.hpp"

namespace lockstep::app {

/// The lower bound on the stage's cluster.
[[nodiscard]] LowerBound bound_of(const Stage& stage, const CollectiveAlgorithm& algorithm);

/// The terms of a bound, each with its source.
[[nodiscard]] std::vector<BoundTerm> terms_of(const LowerBound& bound,
                                              AuxiliaryRanks auxiliary_ranks);

}  // namespace lockstep::app
