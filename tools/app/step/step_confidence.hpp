#pragma once

#include <optional>

#include "strategies/measure/confidence/confidence.hpp"
#include "strategies/scenario/scenario.hpp"

namespace lockstep::app {

/// From configs/validation/residuals.json; none where there is no such file. Throws ConfigError.
[[nodiscard]] std::optional<Confidence> run_confidence(const Scenario& scenario, Duration step);

}  // namespace lockstep::app
