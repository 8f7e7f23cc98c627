#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/app/jobs/placement.hpp"
#include "tools/app/step/metrics/link_classes.hpp"
#include "tools/app/step/run_step.hpp"

/// Several training jobs on one cluster: how much they slow each other down.
namespace lockstep::app {

struct JobsRequest {
  std::vector<TrainingStepRequest> jobs{};  // two or more
  PlacementRequest placement{};
  std::optional<int> gpus{};  // of the shared cluster; none: as many as the jobs have
  int steps = 0;              // of the longest job; 0: so many that shorter jobs run all the time
  OnPhase on_phase{};
};

struct JobResult {
  Scenario scenario;
  std::vector<EndpointId> gpus{};  // of its ranks
  int steps = 1;                   // simulated together with the others
  Duration alone{};                // step on the same GPUs without the others
  Duration together{};             // mean step with the others
  std::vector<Duration> each{};    // the steps
  /// With GPU speeds of its own: alone without them.
  std::optional<Duration> unchanged{};
  RankSpeeds speeds{};          // of ranks that differ from the device's
  std::set<int> drawn_ranks{};  // who, or whose speed, was drawn, with scenario.seed
  [[nodiscard]] double slowdown() const { return together.seconds() / alone.seconds() - 1; }
};

struct JobsResult {
  std::string cluster;  // name
  int gpus = 0;         // of the cluster
  PlacementPolicy policy = PlacementPolicy::packed;
  std::vector<JobResult> jobs{};
  std::vector<LinkClass> shared{};  // links that several jobs use, of all steps together
  std::uint64_t transfers = 0;
};

/// Steps of jobs on one cluster next to all sets of the others.
struct JobSetSteps {
  std::string cluster;
  int gpus = 0;  // of the cluster
  PlacementPolicy policy = PlacementPolicy::packed;
  std::vector<TrainingStepRequest> jobs{};        // on the cluster of the first
  std::vector<std::vector<EndpointId>> placed{};  // GPUs of the ranks of each
  std::vector<std::vector<Duration>> step{};      // by set (a bit for each job), then by job
};
inline constexpr std::size_t kMostSetJobs = 4;  // 2^n - 1 simulations

/// As run_jobs(), for all sets of the jobs. Errors: as run_jobs(), and for more than kMostSetJobs.
[[nodiscard]] JobSetSteps simulate_job_sets(const JobsRequest& request);

/// Simulates each job alone and all together. The cluster is that of the first, enlarged; the
/// others run on it with as many GPUs as on their own. Memory is checked as by run_step(). Errors:
/// as run_step(), simulate_jobs() and place_jobs(); RequestError for hosts (parameter servers),
/// parameter averaging, changed links.
[[nodiscard]] JobsResult run_jobs(const JobsRequest& request);

}  // namespace lockstep::app
