#pragma once

#include <cstdint>
#include <vector>

#include "tools/app/campaign/replicate/badput.hpp"
#include "tools/app/campaign/replicate/campaign_job.hpp"

namespace lockstep::app {

/// One simulated campaign.
struct Replicate {
  BucketTimes times{};     // sum to the wall time exactly
  LongTime executed{};     // ideal time of all steps executed, repeated ones included
  std::int64_t saves = 0;  // checkpoints begun
  std::int64_t restores = 0;
  std::int64_t maintenances = 0;
  std::vector<std::int64_t> failures{};  // by cause, those that stopped training or a restart
  std::int64_t waits_for_repair = 0;     // failures that found no spare node
  std::int64_t replicas_left = 0;        // departures of replicas (ragged_continue)
  bool gave_up = false;                  // at CampaignJob::give_up, unfinished

  [[nodiscard]] LongTime wall() const { return times.total(); }
  [[nodiscard]] double goodput() const {
    const double wall_s = wall().seconds();
    return wall_s > 0 ? times[TimeBucket::productive].seconds() / wall_s : 1;
  }
};

/// Simulates a campaign by discrete events: failures, changes of speed, maintenance; saves between
/// them in closed form, so that the cost is proportional to the number of events. Failures are
/// those of `replicate`: other jobs with the same processes see the same ones.
///
/// Model: a failure at any time, also during a restart, stops the job, which is detected, gets its
/// hardware back, restarts, starts up and restores the last durable checkpoint. Failures in a
/// restart begin it again. Those of a planned
/// maintenance are found at its end. Training runs at the pace of the slowest GPU. A step in which
/// a replica leaves is not repeated.
[[nodiscard]] Replicate simulate_replicate(const CampaignJob& job, std::uint64_t replicate);

/// The same with the failures of the replicate, for jobs that differ in other things.
[[nodiscard]] Replicate simulate_replicate(const CampaignJob& job, std::uint64_t replicate,
                                           EventTrace& failures);

}  // namespace lockstep::app
