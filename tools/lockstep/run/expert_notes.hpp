#pragma once

#include <string>
#include <vector>

#include "strategies/scenario/scenario.hpp"

namespace lockstep::cli {

/// What `expert_skew` comes to: the load of the busiest rank, whether a capacity bounds it, or that
/// it changes nothing. Empty where it is not given or there are no experts.
[[nodiscard]] std::vector<std::string> expert_notes(const Scenario& scenario);

}  // namespace lockstep::cli
