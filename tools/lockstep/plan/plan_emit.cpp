#include "tools/lockstep/plan/plan_emit.hpp"

#include <fmt/format.h>

#include "sim/config/json/json_values.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/plan/plan_render.hpp"

namespace lockstep::cli {

namespace {

/// The best layout, or the first point of a Pareto front.
const PlanRow& best_of(const PlanResult& result) {
  if (result.rows.empty() || !result.rows.front().step)
    throw Refusal("--emit: no layout was found");
  return result.rows.front();
}

/// Without the summary, which describes the scenario before the search.
JsonValue scenario_of(const PlanRow& row) {
  JsonValue out = row.step->scenario.resolved;
  if (auto* members = std::get_if<JsonObject>(&out.data))
    std::erase_if(*members, [](const JsonMember& each) { return each.key == "summary"; });
  return out;
}

std::string_view name_of(LaunchFramework framework) {
  for (const auto& [name, each] : launch_frameworks())
    if (each == framework) return name;
  return {};
}

}  // namespace

std::string emitted(LaunchFramework framework, const PlanResult& result) {
  const PlanRow& best = best_of(result);
  const Scenario& scenario = best.step->scenario;
  std::string out = fmt::format(
      "# {} on {} x {}: step {:.4g} s\n# {}\n"
      "# the layout alone: model, data and learning rate are of your own configuration\n",
      scenario.model.name, scenario.parallel.ranks(), scenario.cluster.device.id,
      best.step->throughput.step_s, layout_text(scenario.parallel));
  return out + with_comments(launch_flags(framework, scenario));
}

std::string emitted_scenario(const PlanResult& result) {
  return json_lines(scenario_of(best_of(result)));
}

void add_emitted_scenario(const PlanResult& result, Report& report) {
  report.more.emplace_back("scenario", json_text(scenario_of(best_of(result))));
}

void add_emitted(LaunchFramework framework, const PlanResult& result, Report& report) {
  const LaunchFlags flags = launch_flags(framework, best_of(result).step->scenario);
  Json out = Json::object();
  out["framework"] = name_of(framework);
  out["text"] = flags.text;
  Json left_out = Json::array();  // Json{...} of two texts would be an object
  for (const std::string& each : flags.left_out) left_out.push_back(each);
  out["not_expressed"] = left_out;
  report.more.emplace_back("launch_flags", out.dump());
}

}  // namespace lockstep::cli
