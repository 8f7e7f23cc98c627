#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/campaign/campaign.hpp"

namespace lockstep::app {

/// One of several jobs on a cluster.
struct JobPlace {
  std::size_t job = 0;                        // index
  std::vector<std::vector<EndpointId>> gpus;  // of all jobs
  int cluster_gpus = 0;
  Duration step{};  // without the others
};

/// By how much the step is longer with one GPU slower by a factor.
using SlowStep = std::function<SlowGpuEffect(double slowdown)>;

/// The campaign on the cluster of a simulated step, with the interval of its rule; simulated, with
/// that of the exponential optimum. `file`: of the campaign, for errors. Throws ConfigError,
/// RequestError, Refusal as simulate_campaign().
[[nodiscard]] CampaignOutcome job_of(const CampaignPlan& plan, const std::string& file,
                                     std::uint64_t seed, TrainingStepResult step,
                                     const SlowStep& slow_step,
                                     const std::optional<JobPlace>& place = {});

}  // namespace lockstep::app
