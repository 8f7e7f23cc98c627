#include "tools/app/plan/metric.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "sim/config/did_you_mean.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

[[nodiscard]] std::optional<double> training_seconds(const PlanPoint& point,
                                                     const PlanSetting& setting) {
  const auto& budget = setting.scenario().samples;
  if (!budget) return std::nullopt;
  return *budget / setting.samples() * point.step_s;
}

[[nodiscard]] std::optional<double> gpu_hours(const PlanPoint& point, const PlanSetting& setting) {
  const auto seconds = training_seconds(point, setting);
  if (!seconds) return std::nullopt;
  return *seconds * setting.ranks() / 3600;
}

[[nodiscard]] std::optional<double> energy_kwh(const PlanPoint& point, const PlanSetting& setting,
                                               const PlanPrices& prices) {
  const auto hours = gpu_hours(point, setting);
  const PlanPrices of = prices_in(setting, prices);
  if (!hours || !of.watts_per_gpu) return std::nullopt;
  return *hours * *of.watts_per_gpu / 1000 * of.pue.value_or(1);
}

[[nodiscard]] std::optional<double> usd(const PlanPoint& point, const PlanSetting& setting,
                                        const PlanPrices& prices) {
  const auto hours = gpu_hours(point, setting);
  const PlanPrices of = prices_in(setting, prices);
  if (!hours || (!of.usd_per_gpu_hour && !of.usd_per_kwh)) return std::nullopt;
  const double sum = *hours * of.usd_per_gpu_hour.value_or(0);
  if (!of.usd_per_kwh) return sum;
  const auto energy = energy_kwh(point, setting, prices);
  if (!energy) return std::nullopt;
  return sum + *energy * *of.usd_per_kwh;
}

/// A plain number, also "15k", "3M".
[[nodiscard]] std::optional<double> number(std::string text) {
  double factor = 1;
  constexpr std::string_view kUnits = "kKMBT";
  constexpr std::array<double, 5> kPowers{1e3, 1e3, 1e6, 1e9, 1e12};
  if (!text.empty() && text.back() == '%') {
    factor = 0.01;
    text.pop_back();
  } else if (!text.empty() && kUnits.find(text.back()) != kUnits.npos) {
    factor = kPowers[kUnits.find(text.back())];
    text.pop_back();
  }
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(out))
    return std::nullopt;
  return out * factor;
}

[[nodiscard]] std::optional<double> quantity(PlanMetric metric, const std::string& text) {
  if (metric == PlanMetric::step_time) {
    if (const auto time = parse_duration(text)) return time->seconds();
    return std::nullopt;
  }
  if (metric == PlanMetric::memory || metric == PlanMetric::memory_margin) {
    if (const auto bytes = parse_bytes(text)) return static_cast<double>(bytes->count());
    return std::nullopt;
  }
  return number(text);
}

[[nodiscard]] std::string_view expected(PlanMetric metric) {
  if (metric == PlanMetric::step_time) return "a time such as \"10 s\"";
  if (metric == PlanMetric::memory || metric == PlanMetric::memory_margin)
    return "a size such as \"4 GiB\"";
  return "a number";
}

}  // namespace

const std::vector<MetricInfo>& plan_metrics() {
  static const std::vector<MetricInfo> all{
      {PlanMetric::step_time, "step_time", "s", true, ""},
      {PlanMetric::tokens_per_s_per_gpu, "tokens_per_s_per_gpu", "tokens/s", false, ""},
      {PlanMetric::mfu, "mfu", "fraction", false, "a peak of the device in this precision"},
      {PlanMetric::days, "days", "days", true, "a token budget (--tokens)"},
      {PlanMetric::gpu_hours, "gpu_hours", "h", true, "a token budget (--tokens)"},
      {PlanMetric::usd, "usd", "$", true,
       "a token budget (--tokens) and a price (--price, or price in the "
       "cluster or device file)"},
      {PlanMetric::energy, "energy", "kWh", true,
       "a token budget (--tokens) and power (--watts, or watts in the "
       "cluster file)"},
      {PlanMetric::gpus, "gpus", "", true, ""},
      {PlanMetric::memory, "memory", "B", true, ""},
      {PlanMetric::memory_margin, "memory_margin", "B", false, "a memory size of the device"},
  };
  return all;
}

namespace {

/// What users call metrics that are named otherwise.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kMetricAliases{{
    {"cost", "usd"},
    {"price", "usd"},
    {"dollars", "usd"},
    {"time", "step_time"},
    {"step", "step_time"},
    {"throughput", "tokens_per_s_per_gpu"},
}};

}  // namespace

const MetricInfo& metric_named(std::string_view name, const std::string& place) {
  const auto alias = std::find_if(kMetricAliases.begin(), kMetricAliases.end(),
                                  [name](const auto& each) { return each.first == name; });
  if (alias != kMetricAliases.end())
    throw RequestError(
        place, fmt::format("no metric named \"{}\"; did you mean \"{}\"?", name, alias->second));
  std::vector<std::string_view> names;
  for (const MetricInfo& each : plan_metrics()) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  const auto near = did_you_mean(name, names);
  throw RequestError(
      place,
      near ? fmt::format("no metric named \"{}\"; did you mean \"{}\"?", name, *near)
           : fmt::format("no metric named \"{}\"; there is {}", name, fmt::join(names, ", ")));
}

const MetricInfo& info_of(PlanMetric metric) {
  return plan_metrics()[static_cast<std::size_t>(metric)];
}

PlanPrices prices_in(const PlanSetting& setting, const PlanPrices& given) {
  PlanPrices out = given;
  const auto fill = [](std::optional<double>& into, const std::optional<double>& from) {
    if (!into) into = from;
  };
  const ScenarioCluster& cluster = setting.scenario().cluster;
  fill(out.usd_per_gpu_hour, cluster.costs.usd_per_gpu_hour);
  fill(out.watts_per_gpu, cluster.costs.watts_per_gpu);
  fill(out.pue, cluster.costs.pue);
  fill(out.usd_per_kwh, cluster.costs.usd_per_kwh);
  fill(out.usd_per_gpu_hour, cluster.device.usd_per_hour);
  if (const auto& power = cluster.device.max_power)
    fill(out.watts_per_gpu, static_cast<double>(power->count()));
  return out;
}

std::optional<double> value_of(PlanMetric metric, const PlanPoint& point,
                               const PlanSetting& setting, const PlanPrices& prices) {
  const double step = std::max(point.step_s, 1e-12);
  switch (metric) {
    case PlanMetric::step_time:
      return point.step_s;
    case PlanMetric::tokens_per_s_per_gpu:
      return setting.samples() / step / setting.ranks();
    case PlanMetric::mfu:
      if (!setting.peak()) return std::nullopt;
      return setting.model_flops() / step / setting.ranks() / *setting.peak();
    case PlanMetric::days: {
      const auto seconds = training_seconds(point, setting);
      return seconds ? std::optional{*seconds / 86400} : std::nullopt;
    }
    case PlanMetric::gpu_hours:
      return gpu_hours(point, setting);
    case PlanMetric::usd:
      return usd(point, setting, prices);
    case PlanMetric::energy:
      return energy_kwh(point, setting, prices);
    case PlanMetric::gpus:
      return setting.ranks();
    case PlanMetric::memory:
      return static_cast<double>(point.memory.count());
    case PlanMetric::memory_margin: {
      const auto& memory = setting.scenario().cluster.device.memory;
      if (!memory) return std::nullopt;
      return static_cast<double>(memory->size.count()) - static_cast<double>(point.memory.count());
    }
  }
  return std::nullopt;
}

bool PlanLimit::is_prunable() const {
  const bool from_above = relation == Relation::less || relation == Relation::at_most;
  return info_of(metric).less_is_better == from_above;
}

PlanLimit parse_limit(const std::string& text) {
  const auto condition = parse_condition(text);
  if (!condition || condition->relation == Relation::equal ||
      condition->relation == Relation::differs)
    throw RequestError(
        "where", fmt::format("\"{}\": expected a metric, one of < <= > >= and a value, such as "
                             "'days <= 30' or 'memory_margin >= 4 GiB'",
                             text));
  const MetricInfo& metric = metric_named(condition->left, "where");
  const auto value = quantity(metric.metric, condition->right);
  if (!value)
    throw RequestError("where", fmt::format("\"{}\": expected {}, got \"{}\"", text,
                                            expected(metric.metric), condition->right));
  return {metric.metric, condition->relation, *value, text};
}

void check_limits(const std::vector<PlanLimit>& limits) {
  for (const PlanLimit& upper : limits) {
    if (upper.relation != Relation::less && upper.relation != Relation::at_most) continue;
    for (const PlanLimit& lower : limits) {
      const bool is_lower =
          lower.relation == Relation::more || lower.relation == Relation::at_least;
      if (!is_lower || lower.metric != upper.metric) continue;
      const bool open = lower.relation == Relation::more || upper.relation == Relation::less;
      if (lower.value < upper.value || (lower.value == upper.value && !open)) continue;
      throw RequestError(
          "where", fmt::format("\"{}\" and \"{}\" contradict each other", lower.text, upper.text));
    }
  }
}

bool holds(const std::vector<PlanLimit>& limits, const PlanPoint& point, const PlanSetting& setting,
           const PlanPrices& prices) {
  return std::all_of(limits.begin(), limits.end(), [&](const PlanLimit& limit) {
    return limit.holds(*value_of(limit.metric, point, setting, prices));
  });
}

bool may_hold(const std::vector<PlanLimit>& limits, const PlanPoint& bound,
              const PlanSetting& setting, const PlanPrices& prices) {
  return std::all_of(limits.begin(), limits.end(), [&](const PlanLimit& limit) {
    return !limit.is_prunable() || limit.holds(*value_of(limit.metric, bound, setting, prices));
  });
}

}  // namespace lockstep::app
