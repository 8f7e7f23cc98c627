#include "tools/lockstep/campaign/campaign_json.hpp"

#include <cmath>

#include "tools/app/campaign/campaign_costs.hpp"
#include "tools/lockstep/jobs/placement_text.hpp"
#include "tools/lockstep/output/drawn_ranks.hpp"

namespace lockstep::cli {

namespace {

[[nodiscard]] Json or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json{};
}

[[nodiscard]] Json interval_json(const CampaignOutcome& of, std::int64_t steps) {
  const double seconds = static_cast<double>(steps) * of.step_s;
  return Json{
      {"steps", steps}, {"interval_s", seconds}, {"period_s", seconds + of.job.stall.seconds()}};
}

[[nodiscard]] Json intervals_json(const CampaignOutcome& of) {
  Json out = Json::object();
  out["rule"] = kIntervalRuleNames.at(static_cast<std::size_t>(of.rule));
  Json used = interval_json(of, of.interval_steps());
  used["closed_form_goodput_fraction"] =
      Json(1 / exponential_time(of.job.interval.seconds(), of.inputs));  // without stragglers
  out["used"] = used;
  for (const app::IntervalRule rule :
       {app::IntervalRule::young, app::IntervalRule::daly, app::IntervalRule::exponential,
        app::IntervalRule::availability}) {
    const double seconds = *closed_interval(rule, of.inputs);
    Json each{{"interval_s", or_null(seconds)},
              {"period_s", or_null(seconds + of.job.stall.seconds())}};
    const std::int64_t steps = whole_steps(seconds, of.step_s, of.most_steps);
    if (!of.search.empty()) {
      each["steps"] = steps;
      each["goodput_fraction"] = of.search.goodput_at(steps);
    }
    out[kIntervalRuleNames.at(static_cast<std::size_t>(rule))] = each;
  }
  if (of.search.empty()) return out;
  const app::IntervalPoint& best = of.search.points[of.search.best];
  Json simulated = interval_json(of, best.steps);
  simulated["goodput_fraction"] = best.goodput;
  out["simulated"] = simulated;
  out["flat"] = Json{{"goodput_lost_fraction", app::kFlatGoodput},
                     {"from", interval_json(of, of.search.flat_from)},
                     {"to", interval_json(of, of.search.flat_to)}};
  Json points = Json::array();
  for (const app::IntervalPoint& each : of.search.points) {
    Json point = interval_json(of, each.steps);
    point["goodput_fraction"] = each.goodput;
    points.push_back(point);
  }
  out["points"] = points;
  return out;
}

/// Of one replicate, or of all: the parts sum to wall exactly.
[[nodiscard]] Json times_json(const std::vector<const Replicate*>& replicates) {
  app::BucketTimes all;
  for (const Replicate* each : replicates)
    for (std::size_t i = 0; i < app::kTimeBuckets; ++i) all.time.at(i) += each->times.time.at(i);
  Json out{{"wall", all.total().us()}};
  for (std::size_t i = 0; i < app::kTimeBuckets; ++i)
    out[app::kBucketNames.at(i)] = all.time.at(i).us();
  return out;
}

[[nodiscard]] Json totals_json(const CampaignOutcome& of) {
  std::vector<const Replicate*> all;
  double seconds = 0;
  for (const Replicate& each : of.replicates) {
    all.push_back(&each);
    seconds += each.wall().seconds();
  }
  return seconds < 9e12 ? times_json(all) : Json{};  // beyond, no 64-bit integer of microseconds
}

/// How the times of saves and restores came about.
[[nodiscard]] Json way_of(const app::CheckpointCost& of) {
  if (!of.computed) return "given";
  return of.storage_nodes > 0 ? "transfers" : "bandwidths";
}

[[nodiscard]] Json outcome_json(const CampaignOutcome& of) {
  const app::CheckpointCost& checkpoint = of.checkpoint;
  Json out{{"scenario", of.label},
           {"step_time_s", of.step_s},
           {"steps", of.steps ? Json(*of.steps) : Json{}},
           {"gpus", of.gpus()},
           {"nodes", of.nodes},
           {"spare_nodes", of.job.spare_nodes},
           {"mtbf_s", or_null(of.inputs.mtbf_s)},
           {"restart_s", of.inputs.restore_s}};
  out["checkpoint"] =
      Json{{"size_bytes", checkpoint.size.count()}, {"save_s", checkpoint.save.seconds()},
           {"stall_s", checkpoint.stall.seconds()}, {"load_s", checkpoint.load.seconds()},
           {"asynchronous", of.job.asynchronous},   {"computed_by", way_of(checkpoint)}};
  Json slow = Json::array();
  for (const app::SlowGpuEffect& each : of.slow_gpus)
    slow.push_back(Json{{"slowdown", each.slowdown},
                        {"step_longer_fraction", each.longer},
                        {"simulated_rank", each.rank ? Json(*each.rank) : Json{}}});
  out["slow_gpus"] = slow;
  out["drawn_speeds"] = drawn_json(drawn_ranks_of(of.step));
  out["interval"] = intervals_json(of);
  out["slack_fraction"] = app::slack_fraction(of.step);
  out["totals_us"] = totals_json(of);
  if (!of.replicates.empty()) out["first_replicate_us"] = times_json({&of.replicates.front()});
  out["fingerprint"] = of.fingerprint;
  return out;
}

}  // namespace

Json campaign_json(const CampaignResult& result) {
  Json out = Json::array();
  for (const CampaignOutcome& each : result.outcomes) out.push_back(outcome_json(each));
  return out;
}

Json joint_json(const CampaignResult& result) {
  const app::JobSetSteps& steps = result.joint->steps;
  Json sets = Json::array();
  for (std::size_t set = 1; set < steps.step.size(); ++set)
    for (std::size_t job = 0; job < steps.jobs.size(); ++job) {
      if ((set >> job & 1U) == 0) continue;
      Json training = Json::array();
      for (std::size_t other = 0; other < steps.jobs.size(); ++other)
        if ((set >> other & 1U) != 0) training.push_back(other + 1);
      sets.push_back(Json{{"training", training},
                          {"job", job + 1},
                          {"step_time_s", steps.step[set][job].seconds()}});
    }
  Json places = Json::array();
  for (const auto& gpus : steps.placed) places.push_back(gpu_ranges(gpus));
  std::int64_t shared = 0;
  for (const std::int64_t each : result.joint->shared_stops) shared += each;
  return Json{
      {"cluster", steps.cluster}, {"gpus", steps.gpus}, {"placement", policy_name(steps.policy)},
      {"gpus_of_jobs", places},   {"steps", sets},      {"shared_failures", shared}};
}

}  // namespace lockstep::cli
