#pragma once

#include "tools/app/campaign/campaign.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Everything but the rows, per scenario: step, checkpoint, intervals, times of all replicates.
[[nodiscard]] Json campaign_json(const CampaignResult& result);
/// Several jobs: where they are, their steps by the set of jobs that train.
[[nodiscard]] Json joint_json(const CampaignResult& result);

}  // namespace lockstep::cli
