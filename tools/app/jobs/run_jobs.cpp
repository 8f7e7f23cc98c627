#include "tools/app/jobs/run_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/config/json/json_values.hpp"
#include "sim/program/communicator.hpp"
#include "strategies/step/simulate_jobs.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/jobs/resized_cluster.hpp"
#include "tools/app/step/memory_check.hpp"
#include "tools/app/step/prepared_step.hpp"
#include "tools/app/step/rank_speeds.hpp"
#include "tools/app/step/requested_scenario.hpp"

namespace lockstep::app {

namespace {

constexpr int kMostSteps = 32;  // of a short job next to a long one
constexpr std::array<std::string_view, 3> kSizeKeys{"nodes", "ranks", "gpus"};

/// The cluster without its size.
std::string kind_of(const Scenario& scenario) {
  JsonObject members = cluster_members(scenario);
  std::erase_if(members, [](const JsonMember& each) {
    return std::ranges::find(kSizeKeys, each.key) != kSizeKeys.end();
  });
  return json_text(JsonValue{{}, std::move(members)});
}

/// On the cluster of the first job.
TrainingStepRequest moved(TrainingStepRequest job, const Scenario& first) {
  const Scenario own = requested_scenario(job);
  if (kind_of(own) == kind_of(first)) return job;
  job.overrides.push_back("cluster=" + json_text(cluster_of_size(first, own.parallel.ranks())));
  return job;
}

void check_plain(const TrainingStepRequest& request, const PreparedTrainingStep& prepared) {
  const std::string& name = prepared.scenario.name;
  if (hosts_of(*prepared.program) > 0)
    throw RequestError("job", name + " has parameter servers, which share no cluster here");
  if (prepared.scenario.parallel.averages())
    throw RequestError("job", name + " averages parameters: its steps are not equal");
  for (const auto& [rank, speed] : prepared.options.speeds)
    if (!speed.windows.empty())
      throw RequestError(fmt::format("set_rank {}", rank),
                         "from and until are times of a single step; jobs that share a cluster "
                         "repeat theirs");
  if (request.links.any() || !request.calibration.empty())
    throw RequestError("job", "changed links and calibrations are not for jobs on one cluster");
}

class Jobs {
 public:
  explicit Jobs(const JobsRequest& request) : request_{request} { prepare(); }

  JobSetSteps run_sets() {
    const std::size_t n = prepared_.size();
    JobSetSteps out{
        shared_->name, shared_->cluster.ranks(), request_.placement.policy, moved_, gpus_, {}};
    out.step.assign(std::size_t{1} << n, std::vector<Duration>(n));
    for (std::size_t set = 1; set < out.step.size(); ++set) run_set(set, out);
    return out;
  }

  JobsResult run() {
    JobsResult out;
    out.cluster = shared_->name;
    out.gpus = shared_->cluster.ranks();
    out.policy = request_.placement.policy;
    std::vector<std::vector<Bytes>> alone;
    for (std::size_t i = 0; i < prepared_.size(); ++i) {
      begin(fmt::format("simulating {} alone", prepared_[i].scenario.name));
      SimulatedJobs simulated = simulate_jobs({placed(i, 1)}, shared_->cluster, shared_->device);
      out.jobs.push_back({.scenario = prepared_[i].scenario, .gpus = gpus_[i]});
      out.jobs.back().alone = simulated.jobs.front().mean_step();
      add_speeds(i, out.jobs.back());
      alone.push_back(std::move(simulated.link_bytes));
    }
    begin("simulating all jobs together");
    run_together(out, alone);
    return out;
  }

 private:
  void begin(const std::string& phase) const {
    if (request_.on_phase) request_.on_phase({phase});
  }

  void prepare() {
    std::vector<int> sizes;
    for (const TrainingStepRequest& job : request_.jobs) {
      begin("laying out the jobs");
      moved_.push_back(prepared_.empty() ? job : moved(job, prepared_.front().scenario));
      prepared_.push_back(prepare_step(moved_.back()));
      check_plain(job, prepared_.back());
      check_memory(job, prepared_.back());
      sizes.push_back(prepared_.back().scenario.parallel.ranks());
    }
    const int needed = std::accumulate(sizes.begin(), sizes.end(), 0);
    shared_ = resized_cluster(prepared_.front().scenario, request_.gpus.value_or(needed));
    gpus_ = place_jobs(request_.placement, sizes, shared_->cluster);
  }

  [[nodiscard]] PlacedJob placed(std::size_t job, int steps) const {
    const PreparedTrainingStep& of = prepared_[job];
    return {of.program, of.scenario.parallel, *of.cost, of.options, gpus_[job], steps};
  }

  /// Who is slow, and the step alone without that.
  void add_speeds(std::size_t job, JobResult& out) const {
    TrainingStepRequest plain = moved_[job];
    out.speeds = prepared_[job].options.speeds;
    out.drawn_ranks = drawn_ranks(plain.speeds, out.scenario.parallel.ranks(), out.scenario.seed);
    if (out.speeds.empty()) return;
    begin(fmt::format("simulating {} alone without slow ranks", out.scenario.name));
    plain.speeds.clear();
    plain.simulation.speeds.clear();
    const PreparedTrainingStep of = prepare_step(plain);
    const PlacedJob placed{of.program, of.scenario.parallel, *of.cost, of.options, gpus_[job], 1};
    out.unchanged =
        simulate_jobs({placed}, shared_->cluster, shared_->device).jobs.front().mean_step();
  }

  /// Sets in ascending order: each job alone is before it with others.
  void run_set(std::size_t set, JobSetSteps& out) {
    std::vector<std::size_t> members;
    std::vector<Duration> alone;
    for (std::size_t i = 0; i < prepared_.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      members.push_back(i);
      alone.push_back(out.step[std::size_t{1} << i][i]);
    }
    begin(members.size() == 1
              ? fmt::format("simulating {} alone", prepared_[members.front()].scenario.name)
              : fmt::format("simulating {} jobs together", members.size()));
    const std::vector<int> steps = members.size() == 1 ? std::vector<int>{1} : steps_of(alone);
    std::vector<PlacedJob> all;
    for (std::size_t i = 0; i < members.size(); ++i) all.push_back(placed(members[i], steps[i]));
    const SimulatedJobs simulated = simulate_jobs(all, shared_->cluster, shared_->device);
    for (std::size_t i = 0; i < members.size(); ++i)
      out.step[set][members[i]] = simulated.jobs[i].mean_step();
  }

  /// Steps of each, so that shorter jobs run as long as the longest.
  [[nodiscard]] std::vector<int> steps_of(const std::vector<Duration>& alone) const {
    const Duration longest = *std::ranges::max_element(alone);
    std::vector<int> out;
    for (const Duration each : alone) {
      const double fit = std::ceil(longest.seconds() / each.seconds() - 1e-9);
      const int of_longest = std::max(1, request_.steps);
      out.push_back(std::max(1, static_cast<int>(std::min<double>(kMostSteps, fit * of_longest))));
    }
    return out;
  }

  void run_together(JobsResult& out, const std::vector<std::vector<Bytes>>& alone) {
    std::vector<Duration> times;
    for (const JobResult& each : out.jobs) times.push_back(each.alone);
    const std::vector<int> steps = steps_of(times);
    std::vector<PlacedJob> all;
    for (std::size_t i = 0; i < out.jobs.size(); ++i) {
      out.jobs[i].steps = steps[i];
      all.push_back(placed(i, steps[i]));
    }
    const SimulatedJobs simulated = simulate_jobs(all, shared_->cluster, shared_->device);
    TimePoint end;
    for (std::size_t i = 0; i < out.jobs.size(); ++i) {
      const std::vector<TimePoint>& ends = simulated.jobs[i].step_ends;
      out.jobs[i].together = simulated.jobs[i].mean_step();
      TimePoint before;
      for (const TimePoint step : ends)
        out.jobs[i].each.push_back(step - std::exchange(before, step));
      end = std::max(end, ends.back());
    }
    out.transfers = simulated.transfers;
    std::vector<Bytes> shared = simulated.link_bytes;
    for (std::size_t link = 0; link < shared.size(); ++link) {
      const auto uses = [link](const std::vector<Bytes>& bytes) { return bytes[link].count() > 0; };
      if (std::ranges::count_if(alone, uses) < 2) shared[link] = Bytes{};
    }
    out.shared = link_classes(shared, end.since_start(), shared_->cluster);
  }

  const JobsRequest& request_;
  std::vector<TrainingStepRequest> moved_{};  // to the cluster of the first
  std::vector<PreparedTrainingStep> prepared_{};
  std::optional<ScenarioCluster> shared_{};
  std::vector<std::vector<EndpointId>> gpus_{};
};

}  // namespace

JobSetSteps simulate_job_sets(const JobsRequest& request) {
  if (request.jobs.size() > kMostSetJobs)
    throw RequestError("job", fmt::format("{} jobs, whose sets are all simulated; at most {} are "
                                          "possible",
                                          request.jobs.size(), kMostSetJobs));
  return Jobs{request}.run_sets();
}

JobsResult run_jobs(const JobsRequest& request) {
  return Jobs{request}.run();
}

}  // namespace lockstep::app
