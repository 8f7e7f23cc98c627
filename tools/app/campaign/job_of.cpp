#include "tools/app/campaign/job_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tools/app/campaign/replicate/random_draws.hpp"
#include "tools/app/errors.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::app {

namespace {

constexpr double kSlowestProgress = 50;  // expected wall time over training time
constexpr double kGiveUp = 50;           // wall time over training time
constexpr double kMostEvents = 1e7;      // of a replicate
constexpr std::size_t kNoJob = std::numeric_limits<std::size_t>::max();

class JobMaker {
 public:
  JobMaker(const CampaignPlan& plan, const std::string& file, std::uint64_t seed,
           TrainingStepResult step, const SlowStep& slow_step, const std::optional<JobPlace>& place)
      : plan_{plan},
        file_{file},
        seed_{seed},
        slow_step_{slow_step},
        place_{place},
        out_{.label = {}, .step = std::move(step)} {}

  [[nodiscard]] CampaignOutcome make() {
    const Cluster& cluster = out_.step.scenario.cluster.cluster;
    job_.ranks = cluster.ranks();
    out_.nodes = cluster.nodes();
    gpus_per_node_ = out_.step.facts.gpus_per_node;
    lacking_ = has_equal_nodes(cluster) ? 0 : gpus_per_node_ - 1;
    add_work();
    add_layout();
    out_.checkpoint = checkpoint_cost(plan_.checkpoint, file_, out_.step);
    job_.asynchronous = plan_.checkpoint.asynchronous;
    job_.stall = out_.checkpoint.stall;
    if (job_.asynchronous) job_.write = out_.checkpoint.save;
    job_.load = out_.checkpoint.load;
    job_.startup = plan_.startup;
    job_.data_stall = slowdown_steps(plan_.data_stall);
    for (const FailureCause& cause : plan_.causes) add_cause(cause);
    if (place_) add_place();
    add_stragglers();
    job_.maintenance = plan_.maintenance;
    job_.spare_nodes = plan_.spare_nodes;
    job_.spare_swap = plan_.spare_swap;
    add_costs();
    add_interval();
    check();
    return std::move(out_);
  }

 private:
  void add_work() {
    const Throughput& of = out_.step.throughput;
    out_.step_s = plan_.step_time ? plan_.step_time->seconds()
                  : place_        ? place_->step.seconds()
                                  : of.step_s;
    if (plan_.duration) {
      job_.work = LongTime::never();
      job_.horizon = *plan_.duration;
      out_.most_steps = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(std::ceil(job_.horizon.seconds() / out_.step_s)));
      return;
    }
    out_.steps = steps();
    if (static_cast<double>(*out_.steps) * out_.step_s > LongTime::never().seconds() / kGiveUp)
      throw RequestError(
          fmt::format("{} steps of {:.3f} s are too many; at most 2,900 years are simulated",
                      *out_.steps, out_.step_s));
    job_.work = time_of_steps(*out_.steps, out_.step_s);
    out_.most_steps = *out_.steps;
    job_.give_up = LongTime::seconds(job_.work.seconds() * kGiveUp);
  }

  [[nodiscard]] std::int64_t steps() const {
    const Throughput& of = out_.step.throughput;
    if (plan_.steps) return *plan_.steps;
    double steps = 0;
    if (plan_.tokens) {
      if (!of.tokens_per_s)
        throw ConfigError{Problem{file_,
                                  {},
                                  "/tokens",
                                  "the model of " + out_.step.scenario.name +
                                      " has no tokens; expected steps or duration"}};
      steps = *plan_.tokens / (*of.tokens_per_s * of.step_s);
    } else if (of.training_s) {
      steps = *of.training_s / of.step_s;
    } else {
      throw ConfigError{Problem{file_,
                                {},
                                "",
                                "expected steps, tokens or duration, since the scenario " +
                                    out_.step.scenario.name + " has no tokens to train on"}};
    }
    // 100 steps are not 101 because of a division.
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(steps - 1e-6)));
  }

  void add_layout() {
    const ParallelConfig& parallel = out_.step.scenario.parallel;
    job_.replicas = std::max(1, parallel.dp);
    for (const std::string& axis : parallel.order) {
      if (axis == "dp") break;
      job_.ranks_per_replica_block *= axis == "tp"   ? parallel.tp
                                      : axis == "cp" ? parallel.cp
                                                     : parallel.pp;
    }
  }

  void add_cause(const FailureCause& cause) {
    JobCause job{cause.detection, cause.restart, cause.repair, cause.policy.value_or(plan_.policy)};
    std::int64_t units = 1;
    const std::int64_t all = (cluster_gpus() + lacking_) / gpus_per_node_;
    const auto group = [&](std::int64_t nodes) {
      job.nodes = std::min(nodes, all);
      job.ranks_per_unit = nodes * gpus_per_node_;
      units = (all + nodes - 1) / nodes;
    };
    switch (cause.domain) {
      case FaultDomain::gpu:
        job.nodes = 1;
        units = cluster_gpus();
        break;
      case FaultDomain::node:
        group(1);
        break;
      case FaultDomain::network_switch:
        group(plan_.nodes_per_switch);
        break;
      case FaultDomain::pod:
        group(plan_.nodes_per_pod);
        break;
      case FaultDomain::software:
        job.hardware = false;
        job.policy = FailurePolicy::rollback;
        break;
    }
    job_.causes.push_back(job);
    job_.failures.push_back({draw_key(seed_, cause.name), units, cause.mtbf});
  }

  [[nodiscard]] std::int64_t cluster_gpus() const {
    return place_ ? place_->cluster_gpus : job_.ranks;
  }

  /// Draws of the second job and those behind it are not those of the first.
  [[nodiscard]] std::string own(const std::string& name, std::size_t job) const {
    return job == 0 ? name : fmt::format("{} of job {}", name, job + 1);
  }
  [[nodiscard]] std::string own(const std::string& name) const {
    return own(name, place_ ? place_->job : 0);
  }

  /// Where the job is, and which failures stop it. All jobs have the same processes: the
  /// hardware's, then those of each job's software.
  void add_place() {
    std::vector<std::size_t> job_of_gpu(static_cast<std::size_t>(place_->cluster_gpus), kNoJob);
    job_.rank_of_gpu.assign(job_of_gpu.size(), -1);
    for (std::size_t job = 0; job < place_->gpus.size(); ++job)
      for (std::size_t rank = 0; rank < place_->gpus[job].size(); ++rank) {
        const auto gpu = static_cast<std::size_t>(place_->gpus[job][rank]);
        job_of_gpu[gpu] = job;
        if (job == place_->job) job_.rank_of_gpu[gpu] = static_cast<std::int64_t>(rank);
      }
    for (std::size_t i = 0; i < plan_.causes.size(); ++i) {
      const bool software = plan_.causes[i].domain == FaultDomain::software;
      job_.unit_uses.push_back(software ? std::vector<UnitUse>{{0, place_->job == 0}}
                                        : uses_of(i, job_of_gpu));
    }
    for (std::size_t i = 0; i < plan_.causes.size(); ++i)
      if (plan_.causes[i].domain == FaultDomain::software)
        for (std::size_t job = 1; job < place_->gpus.size(); ++job) add_software(i, job);
  }

  [[nodiscard]] std::vector<UnitUse> uses_of(std::size_t cause,
                                             const std::vector<std::size_t>& job_of_gpu) const {
    const std::int64_t size = job_.causes[cause].ranks_per_unit;
    std::vector<UnitUse> out(static_cast<std::size_t>(job_.failures[cause].units));
    std::int64_t counted = -1;  // node
    for (std::size_t gpu = 0; gpu < job_of_gpu.size(); ++gpu) {
      if (job_of_gpu[gpu] == kNoJob) continue;
      UnitUse& unit = out[gpu / static_cast<std::size_t>(size)];
      const auto node = static_cast<std::int64_t>(gpu) / gpus_per_node_;
      if (size == 1) unit.nodes = 1;
      if (size > 1 && node != counted) ++unit.nodes;
      counted = node;
      unit.mine = unit.mine || job_of_gpu[gpu] == place_->job;
    }
    return out;
  }

  void add_software(std::size_t cause, std::size_t job) {
    JobCause of = job_.causes[cause];
    of.counts_as = cause;
    job_.causes.push_back(of);
    UnitProcess process = job_.failures[cause];
    process.key = draw_key(seed_, own(plan_.causes[cause].name, job));
    job_.failures.push_back(process);
    job_.unit_uses.push_back({{0, job == place_->job}});
  }

  /// Units whose failure stops this job.
  [[nodiscard]] double units(std::size_t cause) const {
    if (job_.unit_uses.empty()) return static_cast<double>(job_.failures[cause].units);
    return static_cast<double>(std::ranges::count_if(job_.unit_uses[cause], &UnitUse::mine));
  }

  /// Each slowdown is simulated once.
  [[nodiscard]] SlowdownSteps longer(double slowdown) {
    const auto known = std::ranges::find(out_.slow_gpus, slowdown, &SlowGpuEffect::slowdown);
    if (known != out_.slow_gpus.end()) return slowdown_steps(known->longer);
    out_.slow_gpus.push_back(slow_step_(slowdown));
    return slowdown_steps(out_.slow_gpus.back().longer);
  }

  void add_stragglers() {
    std::vector<SlowGpus> slow = plan_.slow_gpus;  // the slowest first
    std::ranges::stable_sort(slow, std::ranges::greater{}, &SlowGpus::slowdown);
    double from = 1;
    for (const SlowGpus& each : slow) {
      from -= each.fraction;
      job_.slow_classes.push_back({from, longer(each.slowdown)});
    }
    job_.straggler_key = draw_key(seed_, own("stragglers"));
    for (const TransientSlowdown& each : plan_.transients) {
      job_.transients.push_back({each.duration, longer(each.slowdown)});
      job_.slowdowns.push_back({draw_key(seed_, own(each.name)), job_.ranks, each.every});
    }
  }

  void add_costs() {
    const OperatingCosts& cluster = out_.step.scenario.cluster.costs;
    CampaignCosts& costs = out_.costs = plan_.costs;
    if (!costs.usd_per_gpu_hour) costs.usd_per_gpu_hour = cluster.usd_per_gpu_hour;
    if (!costs.usd_per_gpu_hour)
      costs.usd_per_gpu_hour = out_.step.scenario.cluster.device.usd_per_hour;
    if (!costs.static_watts) costs.static_watts = cluster.watts_per_gpu;
    if (!costs.pue) costs.pue = cluster.pue;
    if (!costs.usd_per_kwh) costs.usd_per_kwh = cluster.usd_per_kwh;
  }

  void add_interval() {
    IntervalInputs& in = out_.inputs;
    double rate = 0;
    double restore = 0;
    for (std::size_t i = 0; i < job_.causes.size(); ++i) {
      const JobCause& cause = job_.causes[i];
      if (cause.policy == FailurePolicy::ragged_continue && job_.replicas > 1) continue;
      const double of = units(i) / job_.failures[i].mean.seconds();
      rate += of;
      restore += of * restart_time(cause).seconds();
    }
    in.mtbf_s = rate > 0 ? 1 / rate : std::numeric_limits<double>::infinity();
    in.restore_s = rate > 0 ? restore / rate : 0;
    in.save_s = job_.stall.seconds();
    out_.rule = plan_.checkpoint.rule;
    const double wanted = plan_.checkpoint.interval
                              ? plan_.checkpoint.interval->seconds()
                              : closed_interval(out_.rule, in).value_or(exponential_interval(in));
    job_.interval = time_of_steps(whole_steps(wanted, out_.step_s, out_.most_steps), out_.step_s);
  }

  /// From a failure to training, if a spare node is there.
  [[nodiscard]] LongTime restart_time(const JobCause& cause) const {
    LongTime out = cause.detection + cause.restart + job_.startup.total() + job_.load;
    if (!cause.hardware || !cause.repair) return out;
    const bool spare = cause.policy == FailurePolicy::hot_spare && job_.spare_nodes > 0;
    return out + (spare ? job_.spare_swap : *cause.repair);
  }

  /// Before a simulation that would not end.
  void check() const {
    const IntervalInputs& in = out_.inputs;
    const double ratio = exponential_time(job_.interval.seconds(), in);
    if (!(ratio <= kSlowestProgress))
      throw Refusal(fmt::format(
          "{}: the training makes no progress: one failure in {:.1f} min, {:.1f} min to "
          "restart, a checkpoint every {:.1f} min that stalls it for {:.1f} s",
          out_.step.scenario.name, in.mtbf_s / 60, in.restore_s / 60, job_.interval.seconds() / 60,
          in.save_s));
    double rate = 0;
    for (const auto* processes : {&job_.failures, &job_.slowdowns})
      for (const UnitProcess& each : *processes)
        rate += static_cast<double>(each.units) / each.mean.seconds();
    for (const PlannedMaintenance& each : job_.maintenance) rate += 1 / each.every.seconds();
    const double wall = std::min(job_.horizon.seconds(), job_.work.seconds() * ratio);
    if (rate * wall > kMostEvents)
      throw RequestError(
          fmt::format("a replicate has about {:.1e} failures, slowdowns and "
                      "maintenances; at most {:.0e} are simulated",
                      rate * wall, kMostEvents));
  }

  const CampaignPlan& plan_;
  const std::string& file_;
  std::uint64_t seed_;
  const SlowStep& slow_step_;
  const std::optional<JobPlace>& place_;
  CampaignOutcome out_;
  CampaignJob& job_ = out_.job;
  std::int64_t gpus_per_node_ = 1;
  std::int64_t lacking_ = 0;  // GPUs by which nodes may be smaller, all together
};

}  // namespace

CampaignOutcome job_of(const CampaignPlan& plan, const std::string& file, std::uint64_t seed,
                       TrainingStepResult step, const SlowStep& slow_step,
                       const std::optional<JobPlace>& place) {
  return JobMaker{plan, file, seed, std::move(step), slow_step, place}.make();
}

}  // namespace lockstep::app
