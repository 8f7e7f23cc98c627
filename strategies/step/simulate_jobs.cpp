#include "strategies/step/simulate_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/replay_reusing.hpp"
#include "sim/program/communicator.hpp"
#include "sim/program/unroll.hpp"
#include "sim/schedule/own_operations.hpp"
#include "strategies/step/lowering/lowering.hpp"
#include "strategies/step/simulated_cluster.hpp"

namespace lockstep {

namespace {

/// Of some 200 bytes each.
constexpr double kMostOperations = 1e7;

/// One job as a workload of its own.
class LoweredJob {
 public:
  /// `in_fabric`: of any of the jobs, which share one network.
  LoweredJob(const PlacedJob& job, const Cluster& cluster, const Device& device, bool in_fabric)
      : on_{cluster, device, job.options},
        choice_{cluster,      on_.network(false, in_fabric), on_.switches(in_fabric), device,
                on_.tuning(), job.parallel.algorithms,       job.options.network},
        roles_{unroll(*job.program)} {
    const int ranks = job.program->mesh.ranks();
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    check_room(job, all);
    const KernelTimes kernels{
        *job.program, job.cost,
        KernelTimes::host_of(cluster, ranks, job.options.host_memory, job.options.host_link)};
    lowered_ = lower_program(
        {.program = *job.program,
         .roles = roles_.all(),
         .ranks = std::move(all),
         .kernels = kernels,
         .choice = choice_,
         .endpoint = [&job](int rank) { return job.gpus[static_cast<std::size_t>(rank)]; },
         .slowdown = job.cost.slowdown_while_communicating(),
         .speeds = kernels.with_loads(job.options.speeds),
         .calls_in_turn = order_of_calls_is_free(network(), job.options.network)});
    LOCKSTEP_CHECK(lowered_.workload.speed_changes.empty());
  }

  [[nodiscard]] const Workload& workload() const { return lowered_.workload; }
  [[nodiscard]] const Network& network() const { return choice_.network(); }

 private:
  void check_room(const PlacedJob& job, const std::vector<int>& ranks) const {
    double operations = 0;
    for (const int rank : ranks)
      operations += static_cast<double>(roles_[role_played(*job.program, rank)].operations.size());
    operations *= job.steps;
    if (operations <= kMostOperations) return;
    throw TrainingStepTooLarge{fmt::format(
        "{} ranks with {} steps have {:.0f} million operations; of jobs that share a cluster every "
        "rank is simulated, at the most {:.0f} million",
        ranks.size(), job.steps, operations / 1e6, kMostOperations / 1e6)};
  }

  SimulatedCluster on_;
  CollectiveChoice choice_;
  RolePrograms roles_;
  LoweredProgram lowered_;
};

/// Streams of one step of one job in the workload of all.
struct StepStreams {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Puts steps into one workload.
class JointWorkload {
 public:
  /// A step that nothing follows.
  StepStreams add_alone(const Workload& step) { return add(step, {}, false); }
  /// A step after `barrier`, a stream of one operation, if there is one.
  StepStreams add_after(const Workload& step, std::optional<ActivityRef> barrier) {
    return add(step, barrier, true);
  }

  /// Ends when all streams of a step have, which add_after() added.
  ActivityRef add_barrier(const StepStreams& of) {
    Activity barrier;
    for (std::size_t i = of.first; i < of.first + of.count; ++i) {
      const std::size_t operations = out_.streams[i].operations.size();
      if (operations > 0)
        barrier.after.push_back(
            {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(operations - 1)});
    }
    Stream stream;
    stream.endpoint = out_.streams[of.first].endpoint;
    stream.name = "end of the step";
    stream.operations.push_back(std::move(barrier));
    out_.streams.push_back(std::move(stream));
    return {static_cast<std::uint32_t>(out_.streams.size() - 1), 0};
  }

  [[nodiscard]] const Workload& workload() const { return out_; }

 private:
  /// Streams that wait for each other count from one stream: with `own` operations all count from
  /// the first of the workload.
  StepStreams add(const Workload& step, std::optional<ActivityRef> barrier, bool own) {
    const auto calls = static_cast<std::uint32_t>(out_.calls.size());
    const auto streams = static_cast<std::uint32_t>(out_.streams.size());
    out_.calls.insert(out_.calls.end(), step.calls.begin(), step.calls.end());
    for (const Stream& stream : step.streams) {
      out_.streams.push_back(stream);
      Stream& added = out_.streams.back();
      for (CallMemberSlot& slot : added.calls) slot.call += calls;
      for (Activity& each : added.operations)
        if (each.kind == Activity::Kind::collective) each.call += calls;
      added.first_stream += streams;
      if (!own) continue;
      added = with_own_operations(added);
      if (barrier) hold_back(added, *barrier);
    }
    out_.slots = step.slots;
    out_.slowed_permille = std::max(out_.slowed_permille, step.slowed_permille);
    return {streams, step.streams.size()};
  }

  /// The host launches the step when the barrier has ended.
  static void hold_back(Stream& stream, ActivityRef barrier) {
    if (stream.operations.empty()) return;
    stream.operations.front().after.push_back(barrier);
    for (Activity& each : stream.operations)
      if (!each.launched_after) each.launched_after = barrier;
  }

  Workload out_;
};

[[noreturn]] void throw_stuck(const ReplayResult& result) {
  throw ProgramStuck{fmt::format("deadlock: {} of the jobs never complete, among them {}",
                                 result.unfinished.size(), result.unfinished.front().text)};
}

TimePoint end_of(const ReplayResult& result, const StepStreams& step) {
  TimePoint end;
  for (std::size_t i = step.first; i < step.first + step.count; ++i)
    if (!result.stream_ends[i].empty()) end = std::max(end, result.stream_ends[i].back());
  return end;
}

}  // namespace

SimulatedJobs simulate_jobs(const std::vector<PlacedJob>& jobs, const Cluster& cluster,
                            const Device& device) {
  LOCKSTEP_CHECK(!jobs.empty());
  const bool in_fabric = std::any_of(jobs.begin(), jobs.end(), [](const PlacedJob& job) {
    return uses_fabric_switches(job.parallel.algorithms);
  });
  std::vector<std::unique_ptr<LoweredJob>> lowered;
  JointWorkload joint;
  std::vector<std::vector<ActivityRef>> barriers(jobs.size());
  std::vector<StepStreams> single(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    LOCKSTEP_CHECK(hosts_of(*jobs[j].program) == 0);
    lowered.push_back(std::make_unique<LoweredJob>(jobs[j], cluster, device, in_fabric));
    const Workload& step = lowered.back()->workload();
    if (jobs[j].steps == 1) single[j] = joint.add_alone(step);
    for (int i = 0; i < jobs[j].steps && jobs[j].steps > 1; ++i) {
      const auto before = i > 0 ? std::optional{barriers[j].back()} : std::nullopt;
      barriers[j].push_back(joint.add_barrier(joint.add_after(step, before)));
    }
  }
  const ReplayResult result =
      replay_reusing(lowered.front()->network(), joint.workload(), jobs.front().options.network);
  if (!result.unfinished.empty()) throw_stuck(result);
  SimulatedJobs out;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    JobTimes times;
    for (const ActivityRef& end : barriers[j])
      times.step_ends.push_back(result.stream_ends[end.stream][end.index]);
    if (jobs[j].steps == 1) times.step_ends = {end_of(result, single[j])};
    out.jobs.push_back(std::move(times));
  }
  out.link_bytes = result.link_bytes;
  out.transfers = result.transfers;
  return out;
}

}  // namespace lockstep
