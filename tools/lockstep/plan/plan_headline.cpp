#include "tools/lockstep/plan/plan_headline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "tools/lockstep/output/set_options.hpp"
#include "tools/lockstep/plan/plan_render.hpp"
#include "tools/lockstep/run/run_tables.hpp"
#include "tools/lockstep/run/text/aligned.hpp"
#include "tools/lockstep/run/text/part_changes.hpp"

namespace lockstep::cli {

namespace {

std::string short_count(double number) {
  if (number >= 1e6) return fmt::format("{:.3f} M", number / 1e6);
  return number >= 1e4 ? fmt::format("{:.1f} k", number / 1e3) : fmt::format("{:.4g}", number);
}

/// Of a layout that fits by less than peaks of validated runs differ; else empty.
std::string tight_memory(const RankMemory& memory) {
  if (memory.fit() != MemoryFit::tight) return {};
  return fmt::format(
      "memory {} of {} is tight: peaks of validated runs are up to {:.0f} % higher; --where "
      "'memory_margin >= {}' finds layouts with room",
      to_string(memory.needed()), to_string(*memory.capacity), 100 * memory.margin,
      to_string(Bytes{
          std::llround(memory.margin * static_cast<double>(memory.needed().count()) / (1 << 30)) *
          (std::int64_t{1} << 30)}));
}

}  // namespace

std::string metric_text(const MetricInfo& info, double value) {
  switch (info.metric) {
    case PlanMetric::step_time:
      return fmt::format("{:.4g} s", value);
    case PlanMetric::mfu:
      return fmt::format("{:.1f} %", 100 * value);
    case PlanMetric::memory:
    case PlanMetric::memory_margin:
      return fmt::format("{:.2f} GiB", value / 1073741824.0);
    case PlanMetric::usd:
      return fmt::format("${}", short_count(value));
    case PlanMetric::energy:
      return fmt::format("{:.1f} MWh", value / 1000);
    case PlanMetric::days:
      return calendar_text(value * 86'400);
    case PlanMetric::gpus:
      return fmt::format("{:.0f}", value);
    default:
      return fmt::format("{}{}{}", short_count(value), info.unit.empty() ? "" : " ", info.unit);
  }
}

std::optional<double> metric_of(const PlanRow& row, PlanMetric metric) {
  const auto at = static_cast<std::size_t>(metric);
  return at < row.metrics.size() ? row.metrics[at] : std::nullopt;
}

std::vector<std::string> headline_of(const PlanResult& result) {
  std::vector<std::string> out;
  const PlanRow* best = result.rows.empty() ? nullptr : &result.rows.front();
  if (best == nullptr || !best->step) {
    out.push_back(result.complete ? "no layout found" : "no layout found before the budget ended");
    return out;
  }
  const Scenario& scenario = best->step->scenario;
  out.push_back(fmt::format("{}: {} on {} x {}, global batch {}", result.space.name,
                            scenario.model.name, scenario.parallel.ranks(),
                            scenario.cluster.device.id, scenario.parallel.global_batch));
  if (!result.changes.text.empty()) out.push_back("with " + result.changes.text);
  for (std::string& line : part_change_lines(*best->step)) out.push_back(std::move(line));
  const char* what = result.pareto.empty() ? "best layout" : "first of the front";
  out.push_back(fmt::format("{}: {}", what, layout_text(scenario.parallel)));
  std::string times = fmt::format("step {:.4g} s", best->step->throughput.step_s);
  const auto& confidence = best->step->confidence;
  if (confidence)
    times +=
        fmt::format(" (on hardware {:.4g} s to {:.4g} s, {})", confidence->low.seconds(),
                    confidence->high.seconds(),
                    confidence->share ? fmt::format("{:.0f} % interval", 100 * *confidence->share)
                                      : "wider interval: extrapolated");
  const std::pair<PlanMetric, const char*> named[]{{PlanMetric::mfu, "MFU "},
                                                   {PlanMetric::days, ""},
                                                   {PlanMetric::usd, "cost "},
                                                   {PlanMetric::energy, "energy "}};
  for (const auto& [metric, name] : named)
    if (const auto value = metric_of(*best, metric))
      times += fmt::format(", {}{}", name, metric_text(info_of(metric), *value));
  out.push_back(times);
  if (const std::string memory = tight_memory(best->step->memory); !memory.empty())
    out.push_back(memory);
  for (std::string& line : hardware_warnings(*best->step)) out.push_back(std::move(line));
  const auto unknown = [&](PlanMetric metric) { return !metric_of(*best, metric); };
  std::vector<std::string> missing;
  std::vector<std::string> options;
  const auto note_missing = [&](PlanMetric metric, const char* name, const char* option) {
    if (!unknown(metric)) return;
    missing.emplace_back(name);
    options.emplace_back(option);
  };
  note_missing(PlanMetric::usd, "cost", "--price");
  note_missing(PlanMetric::energy, "energy", "--watts");
  if (!missing.empty())
    out.push_back(fmt::format("{}: unknown ({}{})", fmt::join(missing, ", "),
                              unknown(PlanMetric::days) ? "--tokens with " : "",
                              fmt::join(options, ", ")));
  // What the options made of a scenario is in no file; --emit scenario writes it.
  std::string settings = set_options(best->overrides);
  if (!result.changes.text.empty()) settings += (settings.empty() ? "" : " ") + result.changes.text;
  out.push_back("lockstep run SCENARIO" + (settings.empty() ? "" : " " + settings));
  for (const AssumedPower& power : result.assumed_power)
    out.push_back(fmt::format(
        "energy: {} W for each {} (max_power of its device file, the GPU alone); --watts and "
        "--pue replace it",
        power.watts, power.device));
  out.emplace_back();
  return out;
}

}  // namespace lockstep::cli
