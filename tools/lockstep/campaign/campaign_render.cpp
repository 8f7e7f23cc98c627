#include "tools/lockstep/campaign/campaign_render.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "sim/config/json/json_values.hpp"
#include "tools/app/campaign/campaign_costs.hpp"
#include "tools/lockstep/campaign/campaign_json.hpp"
#include "tools/lockstep/jobs/placement_text.hpp"
#include "tools/lockstep/output/cells.hpp"
#include "tools/lockstep/run/text/part_changes.hpp"

namespace lockstep::cli {

namespace {

using app::IntervalRule;
using app::LongTime;
using app::Spread;

/// Four digits, thousands separated: "54.00", "1,234", "0.9312", "21.57 M".
std::string number_text(double value) {
  const double size = std::abs(value);
  if (size < 0.00005) return "0";
  if (size >= 999'999.5) return number_text(value / 1e6) + " M";
  if (size >= 999.5) {
    std::string digits = fmt::format("{:.0f}", value);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0);
         at -= 3)
      digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
  }
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  return size >= 1 ? fmt::format("{:.3f}", value) : fmt::format("{:.4f}", value);
}

Cell number(double value) {
  return Cell{value, number_text(value)};
}

std::string time_text(double seconds) {
  if (!std::isfinite(seconds)) return "never";
  if (seconds >= 2 * 86400.0) return number_text(seconds / 86400) + " d";
  if (seconds >= 2 * 3600.0) return number_text(seconds / 3600) + " h";
  if (seconds >= 120) return number_text(seconds / 60) + " min";
  return number_text(seconds) + " s";
}

class CampaignReport {
 public:
  CampaignReport(const CampaignResult& result, const CampaignReportOptions& options)
      : result_{result}, details_{options.details}, names_{options.names} {}

  Report make() {
    out_.schema = "lockstep.campaign/1";
    out_.seed = result_.seed;
    out_.config = config();
    for (const CampaignOutcome& each : result_.outcomes)
      out_.fingerprint += (out_.fingerprint.empty() ? "" : "-") + each.fingerprint;
    out_.columns = {{"scenario", names_ ? "scenario" : "", {}, true},
                    {"part", "", {}, true},
                    {"quantity", "quantity", {}, true, 40},
                    {"unit", "unit", {}, true},
                    {"mean", "mean", {}, false},
                    {"standard_error", "", {}, false},
                    {"p10", "P10", {}, false},
                    {"p50", "median", {}, false},
                    {"p90", "P90", {}, false},
                    {"share_fraction", "share", "%", false}};
    for (const CampaignOutcome& each : result_.outcomes) add_outcome(each);
    if (result_.joint)
      add_together(*result_.joint);
    else
      for (std::size_t i = 1; i < result_.outcomes.size(); ++i) add_difference(result_.outcomes[i]);
    out_.more.emplace_back("changes", Json(result_.changes).dump());
    out_.more.emplace_back("replicates", std::to_string(result_.replicates));
    out_.more.emplace_back("outcomes", campaign_json(result_).dump());
    if (result_.joint) out_.more.emplace_back("together", joint_json(result_).dump());
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string config() const {
    Json scenarios = Json::array();
    for (const CampaignOutcome& each : result_.outcomes)
      scenarios.push_back(Json::parse(json_text(each.step.scenario.resolved)));
    return Json{{"campaign", Json::parse(json_text(result_.resolved))}, {"scenarios", scenarios}}
        .dump();
  }

  void add_row(const char* part, const std::string& name, const char* unit, const Spread& of,
               Cell share = {}) {
    out_.sections.back().rows.push_back({Cell{scenario_}, Cell{std::string{part}}, Cell{name},
                                         Cell{std::string{unit}}, number(of.mean),
                                         number(of.standard_error), number(of.p10), number(of.p50),
                                         number(of.p90), std::move(share)});
  }

  /// A value without spread.
  void add_value(const char* part, const std::string& name, const char* unit, Cell value,
                 Cell share = {}) {
    out_.sections.back().rows.push_back({Cell{scenario_}, Cell{std::string{part}}, Cell{name},
                                         Cell{std::string{unit}}, std::move(value), Cell{}, Cell{},
                                         Cell{}, Cell{}, std::move(share)});
  }

  static Cell percent(double fraction) {
    return Cell{fraction, fmt::format("{:.2f}", 100 * fraction)};
  }

  void add_outcome(const CampaignOutcome& of) {
    scenario_ = of.label;
    out_.sections.emplace_back();
    out_.sections.back().notes = notes_of(of);
    add_results(of);
    add_times(of);
    if (details_) add_causes(of);
    add_intervals(of);
  }

  [[nodiscard]] std::vector<std::string> notes_of(const CampaignOutcome& of) const {
    const ParallelConfig& parallel = of.step.scenario.parallel;
    std::vector<std::string> out;
    out.push_back(fmt::format(
        "{}: {} on {} x {}, dp {}, tp {}, pp {}, cp {}, ZeRO-{}; step {:.3f} s ({})", scenario_,
        of.step.scenario.model.name, of.gpus(), of.step.scenario.cluster.device.id, parallel.dp,
        parallel.tp, parallel.pp, parallel.cp, parallel.zero, of.step_s,
        result_.plan.step_time ? "as the campaign says" : "simulated"));
    if (!result_.changes.empty()) {
      out.push_back("with " + result_.changes);
      for (std::string& line : part_change_lines(of.step)) out.push_back(std::move(line));
    }
    if (result_.joint) out.push_back(place_note(of));
    const std::string length = of.steps ? fmt::format("{} steps, {} without failures",
                                                      number_text(static_cast<double>(*of.steps)),
                                                      time_text(of.job.work.seconds()))
                                        : time_text(of.job.horizon.seconds());
    out.push_back(fmt::format("campaign {}: {}; {} replicates, seed {}", campaign_name(), length,
                              result_.replicates, result_.seed));
    if (std::isfinite(of.inputs.mtbf_s))
      out.push_back(fmt::format("MTBF of the job {}; MTTR {}, from a failure to training",
                                time_text(of.inputs.mtbf_s), time_text(of.inputs.restore_s)));
    out.push_back(fmt::format(
        "checkpoint: {}, {}{}; save {}, stall {}, restore {}; every {} steps ({}, {})",
        to_string(of.checkpoint.size), of.job.asynchronous ? "asynchronous" : "synchronous",
        result_.plan.checkpoint.sharded ? ", sharded" : "", time_text(of.checkpoint.save.seconds()),
        time_text(of.checkpoint.stall.seconds()), time_text(of.checkpoint.load.seconds()),
        of.interval_steps(), time_text(of.job.interval.seconds()),
        app::kIntervalRuleNames.at(static_cast<std::size_t>(of.rule))));
    if (!of.slow_gpus.empty()) out.push_back(slow_note(of));
    if (of.checkpoint.computed)
      out.push_back(
          of.checkpoint.storage_nodes > 0
              ? fmt::format(
                    "saves and restores: every transfer between ranks and {} storage node{} "
                    "replayed on the cluster's links, within the storage's bandwidth",
                    of.checkpoint.storage_nodes, of.checkpoint.storage_nodes == 1 ? "" : "s")
              : std::string{"saves and restores: bytes over the bandwidth of the storage or of the "
                            "nodes' NICs, without switches; \"storage\": {\"nodes\": N} replays "
                            "every transfer"});
    return out;
  }

  [[nodiscard]] static std::string slow_note(const CampaignOutcome& of) {
    std::vector<std::string> out;
    bool first_order = false;
    for (const app::SlowGpuEffect& each : of.slow_gpus) {
      out.push_back(fmt::format("{:.3g} % slower makes the step {:.3g} % longer{}",
                                100 * (each.slowdown - 1), 100 * each.longer,
                                each.rank ? fmt::format(" (rank {} simulated)", *each.rank) : ""));
      first_order = first_order || !each.rank;
    }
    return fmt::format("one GPU {}{}", fmt::join(out, ", "),
                       first_order ? "; without a rank: first order, the share of computation on "
                                     "the critical path"
                                   : "");
  }

  [[nodiscard]] std::string campaign_name() const {
    return result_.plan.name.empty() ? result_.file : result_.plan.name;
  }

  template <class Of>
  static Spread spread(const CampaignOutcome& outcome, Of of) {
    return app::spread_of(outcome.each(of));
  }

  template <class Of>
  void add_known(const CampaignOutcome& of, const std::string& name, const char* unit,
                 Of quantity) {
    if (!quantity(of, of.replicates.front())) {
      add_value("result", name, unit, no_value("unknown"));
      return;
    }
    add_row("result", name, unit,
            spread(of, [&](const Replicate& each) { return *quantity(of, each); }));
  }

  void add_results(const CampaignOutcome& of) {
    add_row("result", "wall time", "d",
            spread(of, [](const Replicate& each) { return each.wall().days(); }));
    add_row("result", "goodput", "%",
            spread(of, [](const Replicate& each) { return 100 * each.goodput(); }));
    if (!of.steps) {
      const double step_s = of.step_s;
      add_row("result", "steps done", "", spread(of, [&](const Replicate& each) {
                return each.times[app::TimeBucket::productive].seconds() / step_s;
              }));
    }
    add_row("result", "failures", "", spread(of, [](const Replicate& each) {
              double all = 0;
              for (const std::int64_t count : each.failures) all += static_cast<double>(count);
              return all;
            }));
    add_row("result", "planned maintenances", "", spread(of, [](const Replicate& each) {
              return static_cast<double>(each.maintenances);
            }));
    add_row("result", "checkpoints saved", "",
            spread(of, [](const Replicate& each) { return static_cast<double>(each.saves); }));
    if (of.job.spare_nodes > 0 || details_)
      add_row("result", "failures without a spare", "", spread(of, [](const Replicate& each) {
                return static_cast<double>(each.waits_for_repair);
              }));
    if (result_.plan.policy == app::FailurePolicy::ragged_continue || details_)
      add_row("result", "departures of replicas", "", spread(of, [](const Replicate& each) {
                return static_cast<double>(each.replicas_left);
              }));
    const auto gpus = static_cast<double>(of.paid_gpus());
    add_row("result", of.shares_spares ? "GPU-hours" : "GPU-hours, with spares", "h",
            spread(of, [&](const Replicate& each) { return gpus * each.wall().hours(); }));
    add_known(of, "cost", "$", app::campaign_usd);
    add_known(of, "energy of the machines", "kWh", app::machine_kwh);
    add_known(of, "energy with PUE", "kWh", app::facility_kwh);
    const double slack = app::slack_fraction(of.step);
    if (of.step.summary.stages.size() > 1)
      add_value("result", "slack (energy opportunity)", "%", number(100 * slack));
  }

  void add_times(const CampaignOutcome& of) {
    double wall = 0;
    for (const Replicate& each : of.replicates) wall += each.wall().hours();
    const double mean_wall = wall / static_cast<double>(of.replicates.size());
    for (std::size_t i = 0; i < app::kTimeBuckets; ++i) {
      const Spread hours =
          spread(of, [i](const Replicate& each) { return each.times.time.at(i).hours(); });
      const bool shown = details_ || hours.mean > 0 || i == 0;
      if (shown) add_row("time", time_bucket_label(i), "h", hours, percent(hours.mean / mean_wall));
    }
  }

  void add_causes(const CampaignOutcome& of) {
    out_.sections.emplace_back();
    out_.sections.back().notes = {"failures by cause"};
    for (std::size_t i = 0; i < result_.plan.causes.size(); ++i)
      add_row("cause", result_.plan.causes[i].name, "", spread(of, [i](const Replicate& each) {
                return static_cast<double>(each.failures[i]);
              }));
  }

  void add_intervals(const CampaignOutcome& of) {
    if (of.search.empty()) return;
    out_.sections.emplace_back();
    const app::IntervalSearch& search = of.search;
    const double step_s = of.step_s;
    const auto seconds = [&](std::int64_t steps) { return static_cast<double>(steps) * step_s; };
    const double best = seconds(search.points[search.best].steps);
    out_.sections.back().notes = {
        "checkpoint interval: training between two saves, in whole steps; share: goodput there",
        fmt::format("from {} to {} ({:+.0f} to {:+.0f} %) costs less than 0.1 % of goodput",
                    time_text(seconds(search.flat_from)), time_text(seconds(search.flat_to)),
                    100 * (seconds(search.flat_from) / best - 1),
                    100 * (seconds(search.flat_to) / best - 1))};
    constexpr std::pair<IntervalRule, const char*> kRules[] = {
        {IntervalRule::young, "Young, sqrt(2 C M)"},
        {IntervalRule::daly, "Daly, sqrt(2 C (M + R))"},
        {IntervalRule::exponential, "exact exponential optimum"},
        {IntervalRule::availability, "availability optimum"}};
    for (const auto& [rule, name] : kRules) {
      const std::int64_t steps =
          whole_steps(*closed_interval(rule, of.inputs), of.step_s, of.most_steps);
      add_value("interval", name, "s", number(*closed_interval(rule, of.inputs)),
                percent(search.goodput_at(steps)));
    }
    add_value("interval", "simulated optimum", "s", number(best),
              percent(search.points[search.best].goodput));
    if (!details_) return;
    for (const app::IntervalPoint& each : search.points)
      add_value("interval", fmt::format("simulated, {} steps", each.steps), "s",
                number(seconds(each.steps)), percent(each.goodput));
  }

  [[nodiscard]] std::string place_note(const CampaignOutcome& of) const {
    const app::JobSetSteps& steps = result_.joint->steps;
    const auto job = static_cast<std::size_t>(&of - result_.outcomes.data());
    const Duration alone = steps.step[std::size_t{1} << job][job];
    const Duration together = steps.step.back()[job];
    return fmt::format("GPUs {}; step {} alone, {} next to {} ({:+.2f} %)",
                       gpu_ranges(steps.placed[job]), to_string(alone), to_string(together),
                       steps.jobs.size() == 2 ? "the other job" : "all other jobs",
                       100 * (together.seconds() / alone.seconds() - 1));
  }

  /// Of all jobs on their cluster.
  void add_together(const app::JointCampaign& joint) {
    scenario_ = "together";
    const std::vector<CampaignOutcome>& jobs = result_.outcomes;
    out_.sections.emplace_back();
    out_.sections.back().notes = {
        fmt::format("{} jobs together on {} GPUs of {}, {}", jobs.size(), joint.steps.gpus,
                    joint.steps.cluster, policy_name(joint.steps.policy)),
        "longer by the others: wall time minus that of the job alone, with the same failures"};
    for (std::size_t i = 0; i < jobs.size(); ++i)
      add_row("together", fmt::format("job {} longer by the others", i + 1), "h",
              over_replicates([&](std::size_t r) {
                return (jobs[i].replicates[r].wall() - joint.alone[i][r].wall()).hours();
              }));
    add_row("together", "failures that stop several jobs", "", over_replicates([&](std::size_t r) {
              return static_cast<double>(joint.shared_stops[r]);
            }));
    add_row("together", "wall time until the last ends", "d",
            over_replicates([&](std::size_t r) { return app::last_wall(result_, r).days(); }));
    add_row("together", "goodput of all GPU-hours of jobs", "%",
            over_replicates([&](std::size_t r) { return 100 * app::joint_goodput(result_, r); }));
    add_row("together", "GPU-hours, with spares", "h",
            over_replicates([&](std::size_t r) { return app::joint_gpu_hours(result_, r); }));
    add_joint("cost", "$", app::joint_usd);
    add_joint("energy with PUE", "kWh", app::joint_facility_kwh);
  }

  template <class Of>
  Spread over_replicates(Of of) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < result_.replicates; ++i) out.push_back(of(i));
    return app::spread_of(std::move(out));
  }

  template <class Of>
  void add_joint(const char* name, const char* unit, Of of) {
    if (!of(result_, 0)) {
      add_value("together", name, unit, no_value("unknown"));
      return;
    }
    add_row("together", name, unit,
            over_replicates([&](std::size_t r) { return *of(result_, r); }));
  }

  void add_difference(const CampaignOutcome& of) {
    const CampaignOutcome& first = result_.outcomes.front();
    scenario_ = of.label;
    out_.sections.emplace_back();
    out_.sections.back().notes = {fmt::format(
        "{} minus {}, replicate by replicate with the same failures", scenario_, first.label)};
    const auto difference = [&](auto quantity) {
      std::vector<double> out;
      for (std::size_t i = 0; i < of.replicates.size(); ++i)
        out.push_back(quantity(of, of.replicates[i]) - quantity(first, first.replicates[i]));
      return app::spread_of(std::move(out));
    };
    add_row("difference", "wall time", "d",
            difference([](const auto&, const Replicate& r) { return r.wall().days(); }));
    add_row("difference", "goodput", "%",
            difference([](const auto&, const Replicate& r) { return 100 * r.goodput(); }));
    const bool priced = app::campaign_usd(of, of.replicates.front()) &&
                        app::campaign_usd(first, first.replicates.front());
    if (priced)
      add_row("difference", "cost", "$", difference([](const auto& o, const Replicate& r) {
                return *app::campaign_usd(o, r);
              }));
  }

  const CampaignResult& result_;
  bool details_;
  bool names_;
  std::string scenario_;
  Report out_;
};

}  // namespace

std::string time_bucket_label(std::size_t bucket) {
  std::string out{app::kBucketNames.at(bucket)};
  for (char& each : out)
    if (each == '_') each = ' ';
  if (out == "custom") return "custom (planned maintenance)";
  if (out == "other") return "other (slow GPUs, replicas, other jobs)";
  if (out == "productive") return "productive training";
  return out;
}

Report campaign_report(const CampaignResult& result, const CampaignReportOptions& options) {
  return CampaignReport{result, options}.make();
}

std::string replicate_rows(const CampaignResult& result) {
  std::string out = "scenario,replicate,wall_us";
  for (const auto name : app::kBucketNames) out += fmt::format(",{}_us", name);
  out += ",failures,saves,restores\n";
  for (std::size_t s = 0; s < result.outcomes.size(); ++s)
    for (std::size_t i = 0; i < result.outcomes[s].replicates.size(); ++i) {
      const Replicate& each = result.outcomes[s].replicates[i];
      out += fmt::format("{},{},{}", s, i, each.wall().us());
      for (const LongTime time : each.times.time) out += fmt::format(",{}", time.us());
      std::int64_t failures = 0;
      for (const std::int64_t count : each.failures) failures += count;
      out += fmt::format(",{},{},{}\n", failures, each.saves, each.restores);
    }
  return out;
}

}  // namespace lockstep::cli
