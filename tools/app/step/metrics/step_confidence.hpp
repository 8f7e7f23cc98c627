#pragma once

#include <optional>

#include "strategies/measure/confidence/confidence.hpp"
#include "strategies/scenario/scenario.hpp"

namespace lockstep::app {

/// From configs/validation/residuals.json; none without such a file, and none where the scenario
/// fixes the rate of computation itself. Throws ConfigError.
[[nodiscard]] std::optional<Confidence> run_confidence(const Scenario& scenario, Duration step);

/// Margin of simulated peak memory by the same file, as RankMemory::margin; 0 without it. Throws
/// ConfigError.
[[nodiscard]] double peak_memory_margin();

}  // namespace lockstep::app
