#include "tools/app/plan/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/config/json/config_error.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/calibration_of.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/plan/regime.hpp"

namespace lockstep::app {

namespace {

constexpr std::uint64_t kMostSettings = 4096;

[[nodiscard]] std::vector<std::unique_ptr<PlanSetting>> read_settings(const PlanSpace& space,
                                                                      const PlanRequest& request) {
  const Calibration calibration = fitted_calibration_of(request.calibration);
  const std::uint64_t count = space.setting_count();
  if (count > kMostSettings)
    throw RequestError("vary", fmt::format("{} combinations of keys other than those of a layout; "
                                           "at most {} are possible",
                                           count, kMostSettings));
  std::vector<std::unique_ptr<PlanSetting>> out(static_cast<std::size_t>(count));
  in_parallel(
      out.size(),
      [&](std::size_t i) {
        out[i] = std::make_unique<PlanSetting>(space, i, calibration, request.changes);
      },
      request.threads);
  return out;
}

[[nodiscard]] WalkOptions walk_options(const std::vector<std::string>& rules_off) {
  WalkOptions out;
  for (const std::string& rule : rules_off) {
    if (rule != to_string(PlanRule::nvlink_domain))
      throw RequestError(
          "rules_off", fmt::format("only the rule nvlink_domain can be lifted, not \"{}\"", rule));
    out.nvlink_domain = false;
  }
  return out;
}

[[nodiscard]] SearchOptions search_options(const PlanRequest& request) {
  SearchOptions out;
  out.objective = metric_named(request.objective, "objective").metric;
  for (const std::string& name : request.pareto)
    out.pareto.push_back(metric_named(name, "pareto").metric);
  for (const std::string& text : request.where) out.limits.push_back(parse_limit(text));
  check_limits(out.limits);
  out.prices = request.prices;
  out.walk = walk_options(request.rules_off);
  out.top = std::max<std::size_t>(1, request.top);
  out.threads = request.threads;
  out.shard = request.shard;
  out.shards = request.shards;
  out.most_simulated = request.most_simulated;
  out.most_seconds = request.most_seconds;
  out.stop = request.stop;
  out.on_progress = request.on_progress;
  out.known = request.known;
  out.on_simulated = request.on_simulated;
  return out;
}

/// A request with what the space file asks where it says nothing itself.
[[nodiscard]] PlanRequest with_goal(PlanRequest request, const SpaceGoal& goal) {
  if (request.objective.empty() && request.pareto.empty()) request.pareto = goal.pareto;
  if (request.objective.empty()) request.objective = goal.objective;
  if (request.objective.empty()) request.objective = "step_time";
  request.where.insert(request.where.begin(), goal.where.begin(), goal.where.end());
  PlanPrices& prices = request.prices;
  if (!prices.usd_per_gpu_hour) prices.usd_per_gpu_hour = goal.usd_per_gpu_hour;
  if (!prices.watts_per_gpu) prices.watts_per_gpu = goal.watts_per_gpu;
  if (!prices.usd_per_kwh) prices.usd_per_kwh = goal.usd_per_kwh;
  if (!prices.pue) prices.pue = goal.pue;
  return request;
}

/// As plan_metrics().
[[nodiscard]] std::vector<std::optional<double>> metrics_of(const PlanPoint& point,
                                                            const PlanSetting& setting,
                                                            const PlanPrices& prices) {
  std::vector<std::optional<double>> out;
  for (const MetricInfo& info : plan_metrics())
    out.push_back(value_of(info.metric, point, setting, prices));
  return out;
}

[[nodiscard]] const PlanSetting& setting_of(
    const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
    const SimulatedLayout& layout) {
  return *settings[static_cast<std::size_t>(layout.index / space.layout_count())];
}

/// A point of a setting as overrides of the base. Errors: RequestError for one that a rule drops.
[[nodiscard]] std::vector<std::string> overrides_at(const PlanSpace& space,
                                                    const PlanSetting& setting,
                                                    const WalkOptions& options,
                                                    std::uint64_t index) {
  SettingBounds bounds{setting};
  LayoutWalk walk{space, setting, bounds, options};
  const auto found = walk.at(index);
  if (const auto* rule = std::get_if<PlanRule>(&found))
    throw RequestError(fmt::format("no layout: {}", words_of(*rule)));
  std::vector<std::string> out = space.setting_overrides(setting.index());
  for (std::string& each : layout_overrides(std::get<ParallelConfig>(found)))
    out.push_back(std::move(each));
  return out;
}

/// Makes rows: every layout simulated as `run` does.
class RowMaker {
 public:
  RowMaker(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
           const SearchOptions& options, const PlanRequest& request)
      : space_{space}, settings_{settings}, options_{options}, request_{request} {}

  [[nodiscard]] PlanRow of(const SimulatedLayout& layout) const {
    PlanRow out;
    out.index = layout.index;
    out.bound_s = layout.bound_s;
    const PlanSetting& setting = setting_of(space_, settings_, layout);
    out.overrides = overrides_at(space_, setting, options_.walk, layout.index);
    simulate(setting, out);
    return out;
  }

  /// A layout of the first setting that may be impossible.
  [[nodiscard]] PlanRow baseline(PlanBaseline which, std::vector<std::string> overrides) const {
    PlanRow out;
    out.baseline = which;
    out.overrides = space_.setting_overrides(0);
    out.overrides.insert(out.overrides.end(), overrides.begin(), overrides.end());
    try {
      simulate(*settings_.front(), out);
    } catch (const ConfigError& error) {
      out.refused = error.problems().front().message;
    } catch (const Refusal& error) {
      out.refused = error.what();
    } catch (const TrainingStepTooLarge& error) {
      out.refused = error.what();
    }
    return out;
  }

 private:
  [[nodiscard]] static Duration step_of(TrainingStepRequest request, Fidelity fidelity) {
    request.simulation.fidelity = fidelity;
    request.ignore_memory = true;
    return run_step(request).throughput.step;
  }

  void simulate(const PlanSetting& setting, PlanRow& row) const {
    TrainingStepRequest request;
    request.file = space_.name;
    request.document = space_.base;
    request.overrides = row.overrides;
    request.calibration = request_.calibration;
    request.step_only = true;
    request.simulation.fidelity = request_.changes.fidelity;
    const TrainingStepRequest unchanged = request;
    request.speeds = request_.changes.speeds;
    request.links = request_.changes.links;
    try {
      row.step = run_step(request);
      if (request_.changes.of_parts()) row.unchanged = step_of(unchanged, row.step->step.fidelity);
    } catch (const DoesNotFit& misfit) {
      row.shortfall = std::make_shared<const MemoryShortfall>(misfit.shortfall());
      return;
    }
    row.regime = regime_of(row.step->summary.busiest);
    row.metrics = metrics_of({row.step->throughput.step_s, row.step->memory.needed()}, setting,
                             options_.prices);
  }

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  const SearchOptions& options_;
  const PlanRequest& request_;
};

/// The layout of a scenario file that the user has now.
[[nodiscard]] std::vector<std::string> layout_of_file(const std::string& file) {
  SpaceRequest request;
  request.scenario = file;
  return make_space(request).current.value_or(std::vector<std::string>{});
}

[[nodiscard]] std::vector<std::string> plain_data_parallelism(const PlanSetting& setting) {
  ParallelConfig plain;
  plain.dp = setting.ranks();
  plain.global_batch = setting.global_batch();
  return layout_overrides(plain);
}

/// "tp=8,pp=16" as axes of one value.
[[nodiscard]] std::vector<std::pair<LayoutKey, LayoutValue>> asked_values(const PlanSpace& space,
                                                                          const std::string& text) {
  std::vector<std::pair<LayoutKey, LayoutValue>> out;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string each = text.substr(begin, comma - begin);
    begin = comma + 1;
    const std::size_t equals = each.find('=');
    const LayoutKey* key =
        equals == std::string::npos ? nullptr : layout_key(each.substr(0, equals));
    if (key == nullptr)
      throw RequestError("explain", fmt::format("\"{}\": expected layout keys with values, such as "
                                                "tp=8,pp=16",
                                                each.empty() ? text : each));
    LayoutValue value = layout_value(*key, each.substr(equals + 1), each);
    const auto& values = space.axis(*key).values;
    const auto same = [&](const LayoutValue& of) { return of.number == value.number; };
    if (std::none_of(values.begin(), values.end(), same)) {
      std::vector<std::string> texts;
      for (const LayoutValue& of : values) texts.push_back(of.text);
      throw RequestError(
          "explain", fmt::format("{} is not in the space: {} is one of {}; --vary {}=... "
                                 "widens it",
                                 each, to_string(*key), fmt::join(texts, ", "), to_string(*key)));
    }
    out.emplace_back(*key, std::move(value));
  }
  return out;
}

/// A search of the points that have some values.
class Explainer {
 public:
  Explainer(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
            const SearchOptions& options, const PlanRequest& request)
      : space_{space}, settings_{settings}, options_{options}, request_{request} {}

  [[nodiscard]] PlanExplanation explain(const std::string& text) const {
    const auto asked = asked_values(space_, text);
    PlanExplanation out;
    out.asked = text;
    std::vector<bool> held(asked.size(), true);
    const PlanSpace part = narrowed(asked, held);
    const SearchResult found = search(part);
    out.points = found.certificate.points;
    if (!found.best.empty()) {
      out.row = row_of(part, found.best.front());
      return out;
    }
    out.rules = found.certificate.rules;
    out.memory = found.certificate.memory;
    out.limits = found.certificate.limits;
    out.capacity = settings_.front()->memory_capacity();
    if (out.memory > 0) out.least_memory = least_memory(part);
    find_nearest(asked, out);
    return out;
  }

 private:
  [[nodiscard]] PlanSpace narrowed(const std::vector<std::pair<LayoutKey, LayoutValue>>& asked,
                                   const std::vector<bool>& held) const {
    PlanSpace out = space_;
    for (std::size_t i = 0; i < asked.size(); ++i)
      if (held[i]) out.layout[static_cast<std::size_t>(asked[i].first)].values = {asked[i].second};
    return out;
  }

  [[nodiscard]] SearchResult search(const PlanSpace& part) const {
    SearchOptions one = options_;
    one.top = 1;
    one.pareto.clear();
    one.shard = 0;
    one.shards = 1;
    one.known.clear();
    one.on_simulated = {};
    one.on_progress = {};
    return search_space(part, settings_, one);
  }

  [[nodiscard]] PlanRow row_of(const PlanSpace& part, const SimulatedLayout& layout) const {
    return RowMaker{part, settings_, options_, request_}.of(layout);
  }

  /// The least bound on memory of a layout that no rule is against.
  [[nodiscard]] std::optional<Bytes> least_memory(const PlanSpace& part) const {
    std::optional<Bytes> least;
    for (const auto& setting : settings_) {
      SettingBounds bounds{*setting};
      LayoutWalk walk{part, *setting, bounds, options_.walk};
      RuleCounts dropped{};
      const auto take = [&](const WalkedLayout& layout) {
        const Bytes memory = bounds.of(*layout.stack).of(*layout.parallel).memory;
        least = least ? std::min(*least, memory) : memory;
      };
      for (std::size_t tp = 0; tp < part.axis(LayoutKey::tp).values.size(); ++tp)
        for (std::size_t pp = 0; pp < part.axis(LayoutKey::pp).values.size(); ++pp)
          walk.run(tp, pp, {}, take, dropped);
    }
    return least;
  }

  /// Lets go of one value, then of two.
  void find_nearest(const std::vector<std::pair<LayoutKey, LayoutValue>>& asked,
                    PlanExplanation& out) const {
    for (std::size_t freed = 1; freed <= std::min<std::size_t>(2, asked.size()); ++freed) {
      std::optional<SimulatedLayout> best;
      std::optional<PlanSpace> best_part;
      for (std::size_t a = 0; a < asked.size(); ++a) {
        for (std::size_t b = freed == 1 ? a : a + 1; b < (freed == 1 ? a + 1 : asked.size()); ++b) {
          std::vector<bool> held(asked.size(), true);
          held[a] = held[b] = false;
          PlanSpace part = narrowed(asked, held);
          const SearchResult found = search(part);
          if (found.best.empty()) continue;
          if (best && best->step <= found.best.front().step) continue;
          best = found.best.front();
          best_part = std::move(part);
          out.changed = {std::string{to_string(asked[a].first)}};
          if (b != a) out.changed.emplace_back(to_string(asked[b].first));
        }
      }
      if (!best) continue;
      out.nearest = row_of(*best_part, *best);
      return;
    }
  }

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  const SearchOptions& options_;
  const PlanRequest& request_;
};

[[noreturn]] void refuse_empty(const SearchCertificate& certificate) {
  std::string text =
      fmt::format("no layout of the {} points is possible and fits:", certificate.points);
  for (std::size_t rule = 0; rule < kPlanRules; ++rule)
    if (certificate.rules[rule] > 0)
      text +=
          fmt::format("\n  {}: {}", words_of(static_cast<PlanRule>(rule)), certificate.rules[rule]);
  if (certificate.memory > 0)
    text += fmt::format("\n  more memory than a GPU has: {}", certificate.memory);
  if (certificate.limits > 0) text += fmt::format("\n  outside --where: {}", certificate.limits);
  const std::uint64_t misses = certificate.simulated + certificate.not_simulated;
  if (misses > 0)
    text += fmt::format("\n  simulated, and outside --where or too large: {}", misses);
  throw Refusal(text);
}

}  // namespace

std::vector<std::string> layout_overrides(const ParallelConfig& parallel) {
  std::vector<std::string> out;
  const auto add = [&](const char* key, const auto& value) {
    out.push_back(fmt::format("parallel.{}={}", key, value));
  };
  add("tp", parallel.tp);
  add("pp", parallel.pp);
  add("cp", parallel.cp);
  add("dp", parallel.dp);
  if (parallel.ep > 1) add("ep", parallel.ep);
  if (parallel.etp > 0) add("etp", parallel.etp);
  if (parallel.cp > 1) add("cp_kind", name_of(context_names(), parallel.cp_kind));
  add("micro_batch", parallel.micro_batch);
  add("vpp", parallel.vpp);
  add("schedule", name_of(pipeline_names(), parallel.schedule));
  if (parallel.short_edges) add("short_edges", true);
  add("zero", parallel.zero);
  if (parallel.shard_ranks > 0) add("shard_ranks", parallel.shard_ranks);
  add("recompute", name_of(recompute_names(), parallel.recompute));
  add("sequence_parallel", parallel.sequence_parallel);
  if (parallel.state.offload) add("state.offload", true);
  if (parallel.order != ParallelConfig{}.order)
    add("order", fmt::format("[\"{}\"]", fmt::join(parallel.order, "\",\"")));
  std::vector<std::string> overlap;
  for (const Overlap what : parallel.overlap)
    overlap.push_back(fmt::format("\"{}\"", name_of(overlap_names(), what)));
  add("overlap", fmt::format("[{}]", fmt::join(overlap, ",")));
  if (parallel.delay_wgrad_compute) add("delay_wgrad_compute", true);
  return out;
}

std::vector<std::string> point_overrides(const PlanSpace& space, const PlanRequest& request,
                                         std::uint64_t index) {
  if (index >= space.size())
    throw RequestError(fmt::format("the space has points 0 to {}", space.size() - 1));
  const PlanSetting setting{space, index / space.layout_count(),
                            fitted_calibration_of(request.calibration)};
  return overrides_at(space, setting, walk_options(request.rules_off), index);
}

std::optional<std::vector<std::string>> current_layout(const PlanSpace& space,
                                                       const PlanRequest& request) {
  if (request.current.empty()) return space.current;
  return layout_of_file(scenario_file(request.current));
}

SearchResult decide_by_search(const PlanSpace& space,
                              const std::vector<std::unique_ptr<PlanSetting>>& settings,
                              const SearchOptions& options, const PlanRequest& /*request*/) {
  return search_space(space, settings, options);
}

PlanResult plan(const PlanRequest& given, const DecidePoints& decide) {
  PlanSpace space = make_space(given.space);
  const PlanRequest request = with_goal(given, space.goal);
  return plan_space(std::move(space), request, decide);
}

namespace {

/// Where energy is that of GPUs at the maximum power of their device files.
void note_power(const std::vector<std::unique_ptr<PlanSetting>>& settings, const PlanPrices& given,
                PlanResult& out) {
  for (const auto& setting : settings) {
    const ScenarioCluster& cluster = setting->scenario().cluster;
    const bool given_power = given.watts_per_gpu || cluster.costs.watts_per_gpu;
    if (given_power || !setting->scenario().samples || !cluster.device.max_power) continue;
    const AssumedPower power{cluster.device.id, cluster.device.max_power->count()};
    if (std::find(out.assumed_power.begin(), out.assumed_power.end(), power) ==
        out.assumed_power.end())
      out.assumed_power.push_back(power);
  }
}

}  // namespace

PlanResult plan_space(PlanSpace space, const PlanRequest& request, const DecidePoints& decide) {
  PlanResult out{std::move(space),
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 true,
                 metric_named(request.objective, "objective"),
                 {},
                 {},
                 {}};
  out.shard = request.shard;
  out.shards = request.shards;
  if (request.merged_shards) out.extent = PlanExtent::merged_shards;
  if (request.shards > 1) out.extent = PlanExtent::shard;
  out.space_hash = out.space.hash();
  SearchOptions options = search_options(request);
  options.first_look = first_look(out.space);
  for (const PlanMetric metric : options.pareto) out.pareto.push_back(info_of(metric));
  const auto settings = read_settings(out.space, request);
  out.changes = request.changes;
  out.bounds = bound_notes(settings, request.changes);
  if (!request.explain.empty()) {
    out.explanation = Explainer{out.space, settings, options, request}.explain(request.explain);
    return out;
  }
  SearchResult found = decide(out.space, settings, options, request);
  out.certificate = found.certificate;
  out.cells = std::move(found.cells);
  out.complete = found.complete;
  out.simulated = std::move(found.all);
  for (const SimulatedLayout& each : out.simulated)
    out.simulated_metrics.push_back(metrics_of(
        {each.step_s, each.memory}, setting_of(out.space, settings, each), options.prices));
  if (found.best.empty() && found.complete && out.extent == PlanExtent::space)
    refuse_empty(found.certificate);
  const RowMaker rows{out.space, settings, options, request};
  out.rows.resize(found.best.size());
  in_parallel(
      found.best.size(),
      [&](std::size_t i) {
        out.rows[i] = rows.of(found.best[i]);
        out.rows[i].rank = i + 1;
      },
      request.threads);
  if (out.extent != PlanExtent::space) return out;
  note_power(settings, options.prices, out);
  const auto current = current_layout(out.space, request);
  if (current) out.baselines.push_back(rows.baseline(PlanBaseline::current_layout, *current));
  out.baselines.push_back(rows.baseline(PlanBaseline::plain_data_parallelism,
                                        plain_data_parallelism(*settings.front())));
  return out;
}

}  // namespace lockstep::app
