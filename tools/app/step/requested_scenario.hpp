#pragma once

#include <string>
#include <vector>

#include "strategies/scenario/scenario.hpp"

namespace lockstep::app {

struct TrainingStepRequest;

/// The scenario of a request, with its overrides and NIC speed, and notes on keys without effect.
/// Throws ConfigError, RequestError for speeds of missing ranks.
[[nodiscard]] Scenario requested_scenario(const TrainingStepRequest& request);

/// From its file or document, with these overrides alone.
[[nodiscard]] Scenario requested_scenario(const TrainingStepRequest& request,
                                          const std::vector<std::string>& overrides);

}  // namespace lockstep::app
