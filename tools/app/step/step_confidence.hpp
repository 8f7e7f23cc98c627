#pragma once

#include <optional>

#include "strategies/training/scenario.hpp"
#include "strategies/validation/confidence.hpp"

namespace lockstep::app {

/// From configs/validation/residuals.json; none where there is no such file. Throws ConfigError.
[[nodiscard]] std::optional<Confidence> run_confidence(const Scenario& scenario, Duration step);

}  // namespace lockstep::app
