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

/// The request without what no comparison of step times needs: suggestions, traces, baselines,
/// progress; whether it fits into memory does not matter.
[[nodiscard]] TrainingStepRequest for_comparison(TrainingStepRequest request);

}  // namespace lockstep::app
