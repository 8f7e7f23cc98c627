#pragma once

#include <vector>

#include "strategies/scenario/scenario.hpp"
#include "tools/app/plan/axis.hpp"

namespace lockstep::app {

/// The values of a layout key that a search tries where nobody has narrowed them.
[[nodiscard]] std::vector<LayoutValue> standard_values(LayoutKey key, const Scenario& scenario);

}  // namespace lockstep::app
