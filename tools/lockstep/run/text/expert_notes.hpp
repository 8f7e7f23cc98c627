#pragma once

#include <string>
#include <vector>

#include "strategies/scenario/scenario.hpp"

namespace lockstep::cli {

/// Effect of `expert_skew`: load of the busiest rank, what is assumed of the others, whether a
/// capacity bounds it, or that it has none. Empty if it is not given or the model has no experts.
[[nodiscard]] std::vector<std::string> expert_notes(const Scenario& scenario);

}  // namespace lockstep::cli
