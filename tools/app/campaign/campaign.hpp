#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"
#include "tools/app/campaign/checkpoint_cost.hpp"
#include "tools/app/campaign/file/campaign_file.hpp"
#include "tools/app/campaign/interval_search.hpp"
#include "tools/app/campaign/intervals.hpp"
#include "tools/app/campaign/replicate/campaign_job.hpp"
#include "tools/app/campaign/replicate/replicate.hpp"
#include "tools/app/jobs/run_jobs.hpp"
#include "tools/app/progress.hpp"
#include "tools/app/step/run_step.hpp"

/// From a simulated step to days, money and energy of a whole training, with failures,
/// checkpoints, stragglers and maintenance.
namespace lockstep::app {

struct CampaignRequest {
  /// Two or more jobs on one cluster, instead of `steps`; at most kMostSetJobs.
  std::optional<JobsRequest> jobs{};
  /// The layouts to compare; at least one. They see the same failures (common random numbers).
  std::vector<TrainingStepRequest> steps{};
  std::vector<std::string> labels{};     // of the steps; absent or empty: the scenario's name
  std::string file{};                    // a campaign file, or the name of a shipped one
  std::vector<std::string> overrides{};  // of its values: "checkpoint.interval=300 s"
  std::string changes{};                 // of GPUs and links of all steps as options, for reports
  std::size_t replicates = 1000;
  std::uint64_t seed = kDefaultSeed;
  std::size_t threads = 0;      // 0: as many as cores; results do not depend on it
  bool search_interval = true;  // simulate other checkpoint intervals, too
  OnPhase on_phase{};
};
inline constexpr std::size_t kMostReplicates = 1'000'000;

/// Of a quantity over replicates. Quantiles are interpolated linearly between order statistics.
struct Spread {
  double mean = 0;
  double standard_error = 0;  // of the mean; 0 with one replicate
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

/// A step with one GPU slower than the others.
struct SlowGpuEffect {
  double slowdown = 1;      // of the GPU's computation
  double longer = 0;        // fraction by which the step is
  std::optional<int> rank;  // that was simulated; none: first order, the share of computation
};

struct CampaignOutcome {
  std::string label{};
  TrainingStepResult step;
  double step_s = 0;                    // simulated, or as the campaign says
  std::optional<std::int64_t> steps{};  // of the whole training; none: until the end of `duration`
  std::int64_t most_steps = 1;          // that could be between two saves
  std::int64_t nodes = 1;
  CheckpointCost checkpoint{};
  IntervalInputs inputs{};
  CampaignJob job{};
  std::vector<SlowGpuEffect> slow_gpus{};  // of each slowdown of the campaign
  CampaignCosts costs{};                   // of the campaign, else of the cluster and its device
  IntervalRule rule = IntervalRule::given;
  std::vector<Replicate> replicates{};
  /// Simulated at the closed forms and around the best; empty unless searched or without failures.
  IntervalSearch search{};
  std::string fingerprint{};
  bool shares_spares = false;  // with other jobs, which pay them together

  /// Steps between two saves.
  [[nodiscard]] std::int64_t interval_steps() const;
  [[nodiscard]] std::int64_t gpus() const { return job.ranks; }
  /// Its spare nodes included: they are paid for.
  [[nodiscard]] std::int64_t paid_gpus() const;
  /// One value per replicate.
  [[nodiscard]] std::vector<double> each(const std::function<double(const Replicate&)>& of) const;
};

/// Several jobs on one cluster.
struct JointCampaign {
  JobSetSteps steps;
  std::vector<std::vector<Replicate>> alone{};  // by job and replicate: without the others
  std::vector<std::int64_t> shared_stops{};     // by replicate: failures that stopped several jobs
};

struct CampaignResult {
  CampaignPlan plan;
  std::string file{};
  JsonValue resolved;     // the campaign file with overrides
  std::string changes{};  // as requested
  std::size_t replicates = 0;
  std::uint64_t seed = 0;
  std::vector<CampaignOutcome> outcomes{};  // by layout, or by job
  std::optional<JointCampaign> joint{};
};

/// Errors: as run_step(); ConfigError for the campaign file; RequestError for the request; Refusal
/// if failures are so frequent that the training does not end.
[[nodiscard]] CampaignResult simulate_campaign(const CampaignRequest& request);

/// Validates a campaign file; for tests of its schema. Errors: ConfigError.
void check_campaign_file(const JsonDocument& document);

}  // namespace lockstep::app
