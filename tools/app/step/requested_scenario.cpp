#include "tools/app/step/requested_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/step/rank_speeds.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

namespace {

/// The scenario's `cluster`; null if it is no object.
const JsonObject* cluster_members(const Scenario& scenario) {
  const auto* root = scenario.resolved.get_if<JsonObject>();
  const JsonValue* cluster = root != nullptr ? find_member(*root, "cluster") : nullptr;
  return cluster != nullptr ? cluster->get_if<JsonObject>() : nullptr;
}

/// The fabric of a named cluster, or the NICs of one that is given by parameters.
std::string nic_override(const TrainingStepRequest& request,
                         const std::vector<std::string>& overrides, Rate nic) {
  const Scenario plain = requested_scenario(request, overrides);
  const JsonObject* members = cluster_members(plain);
  const bool named = members != nullptr && find_member(*members, "file") != nullptr;
  if (named)
    return fmt::format("cluster.fabric.link.bandwidth=\"{:.0f} B/s\"", nic.bytes_per_second());
  return fmt::format("cluster.nic_gbps={}", nic.bytes_per_second() / 125e6);
}

}  // namespace

Scenario requested_scenario(const TrainingStepRequest& request,
                            const std::vector<std::string>& overrides) {
  if (request.document)
    return read_scenario(*request.document, request.file, overrides, config_folder());
  return load_scenario(request.file, overrides, config_folder());
}

Scenario requested_scenario(const TrainingStepRequest& request) {
  std::vector<std::string> overrides = request.overrides;
  if (request.nic) overrides.push_back(nic_override(request, overrides, *request.nic));
  Scenario out = requested_scenario(request, overrides);
  // Before what else may be wrong: the ranks are those of the scenario.
  (void)rank_speeds(request.speeds, request.simulation.speeds, out.parallel.ranks(), out.seed);
  if (out.seed != kDefaultSeed && std::none_of(request.speeds.begin(), request.speeds.end(), draws))
    out.notes.push_back({"seed", "nothing of a simulated step is drawn at random"});
  const JsonObject* cluster = cluster_members(out);
  for (const std::string_view key : kCostKeys)
    if (cluster != nullptr && find_member(*cluster, key) != nullptr)
      out.notes.push_back({fmt::format("cluster.{}", key), "plan alone counts money and energy"});
  return out;
}

TrainingStepRequest for_comparison(TrainingStepRequest request) {
  request.suggestions = 0;
  request.ignore_memory = true;
  request.step_only = true;
  request.trace.clear();
  request.on_phase = {};
  request.on_progress = {};
  return request;
}

}  // namespace lockstep::app
