#include "tools/app/campaign/replicate/replicate.hpp"

#include "tools/app/campaign/replicate/campaign_run.hpp"

namespace lockstep::app {

Replicate simulate_replicate(const CampaignJob& job, std::uint64_t replicate) {
  EventTrace failures{job.failures, replicate};
  return simulate_replicate(job, replicate, failures);
}

Replicate simulate_replicate(const CampaignJob& job, std::uint64_t replicate,
                             EventTrace& failures) {
  SparePool spares{job.spare_nodes};
  CampaignRun run{job, replicate, failures, spares};
  while (!run.finished()) run.act();
  return run.result();
}

}  // namespace lockstep::app
