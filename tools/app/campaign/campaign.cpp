#include "tools/app/campaign/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "strategies/scenario/scenario_overlay.hpp"
#include "tools/app/campaign/job_of.hpp"
#include "tools/app/campaign/replicate/joint_replicate.hpp"
#include "tools/app/campaign/slow_step.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/inputs/shipped_or_file.hpp"
#include "tools/app/parallel.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::app {

namespace {

[[nodiscard]] double quantile(const std::vector<double>& sorted, double of) {
  const double at = of * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

[[nodiscard]] std::string file_of(const std::string& name) {
  constexpr const char* kFolder = "campaigns";
  if (auto file = shipped_or_file(name, kFolder)) return *std::move(file);
  throw RequestError(ConfigNames{config_folder(), kFolder}.complaint("campaign", name));
}

/// A file of the wrong kind is one error instead of one per key.
void refuse_scenario(const JsonDocument& document) {
  const auto* root = document.root.get_if<JsonObject>();
  if (root == nullptr || find_member(*root, "checkpoint") != nullptr) return;
  for (const JsonMember& each : *root)
    if (each.key == "model" || each.key == "parallel" || each.key == "cluster")
      throw ConfigError{
          Problem{document.file, each.key_at, "/" + each.key,
                  "this is a scenario; expected a campaign, with \"checkpoint\" and \"causes\": "
                  "`lockstep list campaigns` lists shipped ones to copy"}};
}

[[nodiscard]] std::string fingerprint_of(const CampaignOutcome& outcome) {
  Fingerprint out;
  out.add(LongTime::seconds(outcome.step_s).us());
  for (const Replicate& each : outcome.replicates) {
    for (const LongTime time : each.times.time) out.add(time.us());
    for (const std::int64_t count : each.failures) out.add(count);
  }
  return out.text();
}

class Campaign {
 public:
  explicit Campaign(const CampaignRequest& request) : request_{request} {
    if (request.steps.empty() && !request.jobs)
      throw RequestError("scenario", "expected a scenario");
    out_.file = file_of(request.file);
    JsonDocument document = read_json(out_.file);
    refuse_scenario(document);
    Overlay overlay;
    for (const std::string& each : request.overrides) overlay.apply(each, document.root);
    try {
      out_.plan = read_campaign(document);
    } catch (const ConfigError& error) {
      throw overlay.attributed(error);
    }
    refuse_idle_changes();
    out_.resolved = document.root;
    out_.changes = request.changes;
    out_.replicates = request.replicates;
    out_.seed = request.seed;
  }

  [[nodiscard]] CampaignResult run() {
    if (request_.jobs) {
      run_jobs_together();
      return std::move(out_);
    }
    for (const TrainingStepRequest& step : request_.steps) add(step, {});
    for (CampaignOutcome& each : out_.outcomes) {
      choose_interval(each);
      simulate(each);
    }
    return std::move(out_);
  }

 private:
  /// A measured step is as it was measured.
  void refuse_idle_changes() const {
    const auto changed = [](const TrainingStepRequest& step) {
      return !step.speeds.empty() || step.links.any();
    };
    if (out_.plan.step_time && std::ranges::any_of(request_.steps, changed))
      throw RequestError(fmt::format(
          "{} has a measured step_time, which slow ranks and changed links would not change; "
          "expected one without",
          out_.file));
  }

  /// Refuses a training that does not end.
  static void check(const CampaignOutcome& outcome, const Replicate& replicate) {
    if (!replicate.gave_up) return;
    const double done = replicate.times[TimeBucket::productive].seconds();
    throw Refusal(fmt::format(
        "{}: the training does not end: after 50 times its failure-free time, in {:.0f} "
        "days, {:.1f} % of it is done; {:.0f} % of the time went into recovery of "
        "infrastructure, with {} of {} failures waiting for a repair. Expected rarer "
        "failures, more spare nodes, shorter repairs or restarts, or a duration",
        outcome.label, replicate.wall().days(), 100 * done / outcome.job.work.seconds(),
        100 * replicate.times[TimeBucket::infrastructure_recovery].seconds() /
            replicate.wall().seconds(),
        replicate.waits_for_repair, failures_of(replicate)));
  }

  [[nodiscard]] static std::int64_t failures_of(const Replicate& replicate) {
    return std::accumulate(replicate.failures.begin(), replicate.failures.end(), std::int64_t{0});
  }

  void add(TrainingStepRequest step, const std::optional<JobPlace>& place) {
    step.step_only = true;
    step.suggestions = 0;
    step.on_phase = request_.on_phase;
    const std::size_t i = out_.outcomes.size();
    TrainingStepResult result = run_step(step);
    const SlowStep slow = [&, plain = result](double slowdown) {
      begin(fmt::format("simulating a GPU slower by {:.3g} %", 100 * (slowdown - 1)));
      return slow_step(step, plain, slowdown);
    };
    out_.outcomes.push_back(
        job_of(out_.plan, out_.file, request_.seed, std::move(result), slow, place));
    CampaignOutcome& outcome = out_.outcomes.back();
    if (i < request_.labels.size()) outcome.label = request_.labels[i];
    if (outcome.label.empty()) outcome.label = outcome.step.scenario.name;
  }

  void choose_interval(CampaignOutcome& outcome) const {
    const Replicate first = simulate_replicate(outcome.job, 0);  // before thousands like it
    check(outcome, first);
    const bool fails = std::isfinite(outcome.inputs.mtbf_s) && outcome.inputs.save_s > 0;
    const bool searched = outcome.rule == IntervalRule::simulated;
    if (!fails || !(request_.search_interval || searched)) return;
    begin(fmt::format("simulating checkpoint intervals of {}", outcome.step.scenario.name));
    outcome.search = search(outcome, failures_of(first));
    if (searched)
      outcome.job.interval =
          time_of_steps(outcome.search.points[outcome.search.best].steps, outcome.step_s);
  }

  [[nodiscard]] std::vector<Replicate> replicates_of(const CampaignOutcome& outcome) const {
    begin(fmt::format("simulating {} campaigns of {}", request_.replicates,
                      outcome.step.scenario.name));
    std::vector<Replicate> out(request_.replicates);
    in_parallel(
        request_.replicates, [&](std::size_t i) { out[i] = simulate_replicate(outcome.job, i); },
        request_.threads);
    for (const Replicate& each : out) check(outcome, each);
    return out;
  }

  void simulate(CampaignOutcome& outcome) const {
    outcome.replicates = replicates_of(outcome);
    outcome.fingerprint = fingerprint_of(outcome);
  }

  // Several jobs.

  void run_jobs_together() {
    if (out_.plan.step_time)
      throw ConfigError{Problem{out_.file,
                                {},
                                "/step_time",
                                "a measured step is of one job; expected none for several, whose "
                                "steps are simulated next to each other"}};
    JobsRequest jobs = *request_.jobs;
    jobs.on_phase = request_.on_phase;
    out_.joint = JointCampaign{simulate_job_sets(jobs)};
    const JobSetSteps& steps = out_.joint->steps;
    for (std::size_t i = 0; i < steps.jobs.size(); ++i) {
      add(steps.jobs[i], JobPlace{i, steps.placed, steps.gpus, steps.step[std::size_t{1} << i][i]});
      CampaignOutcome& outcome = out_.outcomes.back();
      outcome.label = fmt::format("job {}, {}", i + 1, outcome.label);
      outcome.shares_spares = true;
    }
    for (CampaignOutcome& each : out_.outcomes) {
      choose_interval(each);
      out_.joint->alone.push_back(replicates_of(each));
    }
    simulate_together();
  }

  [[nodiscard]] TrafficSlowdowns traffic() const {
    TrafficSlowdowns out;
    const auto& steps = out_.joint->steps.step;
    for (std::size_t set = 0; set < steps.size(); ++set) {
      out.by_set.emplace_back(out_.outcomes.size());
      for (std::size_t i = 0; i < out_.outcomes.size(); ++i) {
        if ((set >> i & 1U) == 0) continue;
        const double ratio = steps[set][i].seconds() / steps[std::size_t{1} << i][i].seconds();
        out.by_set.back()[i] = slowdown_steps(std::max(0.0, ratio - 1));
      }
    }
    return out;
  }

  void simulate_together() {
    begin(fmt::format("simulating {} campaigns of all jobs", request_.replicates));
    std::vector<CampaignJob> jobs;
    for (const CampaignOutcome& each : out_.outcomes) jobs.push_back(each.job);
    const TrafficSlowdowns slower = traffic();
    std::vector<JointReplicate> found(request_.replicates);
    in_parallel(
        request_.replicates,
        [&](std::size_t i) { found[i] = simulate_joint_replicate(jobs, slower, i); },
        request_.threads);
    for (JointReplicate& each : found) {
      out_.joint->shared_stops.push_back(each.shared_stops);
      for (std::size_t job = 0; job < jobs.size(); ++job) {
        check(out_.outcomes[job], each.jobs[job]);
        out_.outcomes[job].replicates.push_back(std::move(each.jobs[job]));
      }
    }
    for (CampaignOutcome& each : out_.outcomes) each.fingerprint = fingerprint_of(each);
  }

  [[nodiscard]] IntervalSearch search(const CampaignOutcome& outcome, std::int64_t failures) const {
    IntervalSearchRequest request{outcome.job, outcome.inputs, outcome.step_s, outcome.most_steps};
    for (const IntervalRule rule : {IntervalRule::young, IntervalRule::daly,
                                    IntervalRule::exponential, IntervalRule::availability})
      request.also.push_back(
          whole_steps(*closed_interval(rule, outcome.inputs), outcome.step_s, outcome.most_steps));
    request.also.push_back(outcome.interval_steps());
    request.replicates =
        std::min(request_.replicates,
                 std::clamp<std::size_t>(kSearchFailures / static_cast<std::size_t>(failures + 1),
                                         kFewestSearchReplicates, kMostSearchReplicates));
    request.threads = request_.threads;
    return search_interval(request);
  }

  void begin(const std::string& phase) const {
    if (request_.on_phase) request_.on_phase({phase});
  }

  static constexpr std::size_t kMostSearchReplicates = 1000;
  static constexpr std::size_t kFewestSearchReplicates = 20;
  static constexpr std::size_t kSearchFailures = 5'000'000;  // at each interval, for seconds
  const CampaignRequest& request_;
  CampaignResult out_;
};

}  // namespace

Spread spread_of(std::vector<double> values) {
  Spread out;
  if (values.empty()) return out;
  const auto n = static_cast<double>(values.size());
  for (const double each : values) out.mean += each;
  out.mean /= n;
  double squares = 0;
  for (const double each : values) squares += (each - out.mean) * (each - out.mean);
  if (values.size() > 1) out.standard_error = std::sqrt(squares / (n - 1) / n);
  std::ranges::sort(values);
  out.p10 = quantile(values, 0.1);
  out.p50 = quantile(values, 0.5);
  out.p90 = quantile(values, 0.9);
  return out;
}

std::int64_t CampaignOutcome::interval_steps() const {
  return whole_steps(job.interval.seconds(), step_s, most_steps);
}

std::int64_t CampaignOutcome::paid_gpus() const {
  const std::int64_t per_node = step.facts.gpus_per_node;
  return job.ranks + (shares_spares ? 0 : job.spare_nodes * per_node);
}

std::vector<double> CampaignOutcome::each(const std::function<double(const Replicate&)>& of) const {
  std::vector<double> out;
  out.reserve(replicates.size());
  for (const Replicate& replicate : replicates) out.push_back(of(replicate));
  return out;
}

CampaignResult simulate_campaign(const CampaignRequest& request) {
  return Campaign{request}.run();
}

void check_campaign_file(const JsonDocument& document) {
  (void)read_campaign(document);
}

}  // namespace lockstep::app
