#pragma once

#include <string>

#include "tools/app/campaign/campaign.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// A section per scenario, then differences from the first. With `details` also each cause, and
/// all intervals that were simulated; data formats have all rows.
struct CampaignReportOptions {
  bool details = false;
  bool names = false;  // a column with the scenario, for formats without notes
};
[[nodiscard]] Report campaign_report(const CampaignResult& result,
                                     const CampaignReportOptions& options);

/// A line per scenario and replicate, times in microseconds, as CSV.
[[nodiscard]] std::string replicate_rows(const CampaignResult& result);

}  // namespace lockstep::cli
