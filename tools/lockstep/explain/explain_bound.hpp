#pragma once

#include <vector>

#include "tools/lockstep/explain/explain_cost.hpp"

namespace lockstep::cli {

/// What no schedule can beat on the stage's cluster, each with what it comes from. Empty where no
/// bound is known for the collective.
[[nodiscard]] std::vector<BoundTerm> explain_bound(const Stage& stage,
                                                   const CollectiveAlgorithm& algorithm);

}  // namespace lockstep::cli
