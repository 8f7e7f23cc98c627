#pragma once

#include <string>

#include "tools/app/campaign/campaign.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// A page of one HTML file: for each scenario or job what its wall time is spent on, the
/// distribution of wall times, and goodput by checkpoint interval; then the tables.
[[nodiscard]] std::string campaign_page(const CampaignResult& result);

}  // namespace lockstep::cli
