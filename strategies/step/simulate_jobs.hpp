#pragma once

#include <memory>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/step/simulate.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// A training job on some GPUs of a cluster that it may share.
struct PlacedJob {
  std::shared_ptr<const Program> program;  // without hosts
  const ParallelConfig& parallel;
  const CostModel& cost;
  /// Speeds without windows, tuning, costs and host figures of its own; fidelity and folding do
  /// not apply.
  const SimulationOptions& options;
  std::vector<EndpointId> gpus;  // of its ranks, in order
  int steps = 1;                 // one after the other
};

struct JobTimes {
  std::vector<TimePoint> step_ends;  // when the last rank has ended each
  [[nodiscard]] Duration mean_step() const {
    const Duration all = step_ends.back().since_start();
    return Duration::picoseconds(all.ps() / static_cast<std::int64_t>(step_ends.size()));
  }
};

struct SimulatedJobs {
  std::vector<JobTimes> jobs;       // as given
  std::vector<Bytes> link_bytes{};  // of all jobs, by link
  std::uint64_t transfers = 0;
};

/// Simulates jobs that begin together on disjoint GPUs: every rank and every transfer, on one
/// network. A step begins when the last rank of its job has ended the step before.
/// Errors: ProgramStuck if a job deadlocks; TrainingStepTooLarge for too many operations.
[[nodiscard]] SimulatedJobs simulate_jobs(const std::vector<PlacedJob>& jobs,
                                          const Cluster& cluster, const Device& device);

}  // namespace lockstep
