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

/// "checkpoint save", "other (slow GPUs, replicas, other jobs)".
[[nodiscard]] std::string time_bucket_label(std::size_t bucket);

/// A line per scenario and replicate, times in microseconds, as CSV.
[[nodiscard]] std::string replicate_rows(const CampaignResult& result);

}  // namespace lockstep::cli
