#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/app/campaign/replicate/campaign_job.hpp"
#include "tools/app/campaign/replicate/replicate.hpp"

namespace lockstep::app {

/// How much jobs of one cluster slow each other down: by the set of jobs that train (a bit for
/// each), then by job, the slowdown of its step against the one alone; 0 for jobs outside the set.
struct TrafficSlowdowns {
  std::vector<std::vector<SlowdownSteps>> by_set{};
};

struct JointReplicate {
  std::vector<Replicate> jobs{};  // as given
  std::int64_t shared_stops = 0;  // failures that stopped several jobs
};

/// Campaigns of several jobs on one cluster, with the failures of its hardware in common (the same
/// processes in all of them, `unit_uses` saying which stop which) and with its spare nodes. At each
/// instant a job trains at the pace that the jobs training then leave it; saves count as training.
/// Jobs have `rank_of_gpu` and `unit_uses`.
[[nodiscard]] JointReplicate simulate_joint_replicate(const std::vector<CampaignJob>& jobs,
                                                      const TrafficSlowdowns& traffic,
                                                      std::uint64_t replicate);

}  // namespace lockstep::app
