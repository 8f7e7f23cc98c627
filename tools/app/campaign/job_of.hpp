#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/app/campaign/campaign.hpp"

namespace lockstep::app {

/// The campaign on the cluster of a simulated step, with the interval of its rule; simulated, with
/// that of the exponential optimum. `file`: of the campaign, for errors. Throws ConfigError,
/// RequestError, Refusal as simulate_campaign().
[[nodiscard]] CampaignOutcome job_of(const CampaignPlan& plan, const std::string& file,
                                     std::uint64_t seed, TrainingStepResult step);

}  // namespace lockstep::app
