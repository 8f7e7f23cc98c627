#pragma once

#include <vector>

#include "strategies/scenario/scenario.hpp"
#include "tools/app/plan/axis.hpp"

namespace lockstep::app {

/// Default values of a layout key in a search.
[[nodiscard]] std::vector<LayoutValue> standard_values(LayoutKey key, const Scenario& scenario);

}  // namespace lockstep::app
