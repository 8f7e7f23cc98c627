#include "tools/app/step/fidelity_check.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "sim/config/json/config_error.hpp"
#include "sim/config/json/json.hpp"
#include "tools/app/step/prepared_step.hpp"
#include "tools/app/step/run_step.hpp"
#include "tools/app/step/simulate_step.hpp"

namespace lockstep::app {

namespace {

/// On so many ranks, all of them are simulated in about a second.
constexpr int kMostRanks = 512;

TrainingStepRequest without_changes(const TrainingStepRequest& request) {
  TrainingStepRequest out = request;
  out.speeds.clear();
  out.simulation.speeds.clear();
  out.links = {};
  out.nic.reset();
  out.trace.clear();
  out.ignore_memory = true;
  return out;
}

/// The key of the cluster's size, "nodes" or "gpus", and its value.
std::optional<std::pair<std::string, std::int64_t>> size_of(const Scenario& scenario) {
  const auto* root = scenario.resolved.get_if<JsonObject>();
  const JsonValue* found = root != nullptr ? find_member(*root, "cluster") : nullptr;
  const auto* cluster = found != nullptr ? found->get_if<JsonObject>() : nullptr;
  if (cluster == nullptr) return std::nullopt;
  for (const char* const key : {"nodes", "gpus"}) {
    const JsonValue* size = find_member(*cluster, key);
    if (const auto* number = size != nullptr ? size->get_if<std::int64_t>() : nullptr)
      return std::pair{std::string{key}, *number};
  }
  return std::nullopt;
}

/// The most replicas, a divisor of dp, that have at most kMostRanks ranks and whole nodes.
std::optional<int> fewer_replicas(const Scenario& scenario, std::int64_t size) {
  const ParallelConfig& parallel = scenario.parallel;
  for (int by = 2; by <= parallel.dp / 2; ++by) {
    if (parallel.dp % by != 0 || size % by != 0 || parallel.global_batch % by != 0) continue;
    if (parallel.ranks() / by <= kMostRanks) return parallel.dp / by;
  }
  return std::nullopt;
}

std::optional<TrainingStepRequest> with_fewer_replicas(const TrainingStepRequest& plain,
                                                       const Scenario& scenario) {
  const auto size = size_of(scenario);
  if (!size) return std::nullopt;
  const auto dp = fewer_replicas(scenario, size->second);
  if (!dp) return std::nullopt;
  const int by = scenario.parallel.dp / *dp;
  TrainingStepRequest out = plain;
  out.overrides.push_back(fmt::format("cluster.{}={}", size->first, size->second / by));
  out.overrides.push_back(fmt::format("parallel.dp={}", *dp));
  out.overrides.push_back(
      fmt::format("parallel.global_batch={}", scenario.parallel.global_batch / by));
  return out;
}

std::optional<FidelityCheck> compared(const TrainingStepRequest& plain) {
  PreparedTrainingStep prepared = prepare_step(plain);
  const SimulatedTrainingStep all = simulate_step(prepared);
  if (all.fidelity != Fidelity::all_ranks) return std::nullopt;
  prepared.options.fidelity = Fidelity::representatives;
  return FidelityCheck{prepared.scenario.parallel.ranks(),
                       simulate_step(prepared).timeline.end.since_start(),
                       all.timeline.end.since_start()};
}

}  // namespace

std::optional<FidelityCheck> check_fidelity(const TrainingStepRequest& request,
                                            const Scenario& scenario, Fidelity fidelity) {
  const bool chosen = request.simulation.fidelity == Fidelity::automatic && !request.step_only;
  if (!chosen || fidelity != Fidelity::representatives) return std::nullopt;
  request.begin("comparing with all ranks");
  const TrainingStepRequest plain = without_changes(request);
  if (!request.speeds.empty() || !request.simulation.speeds.empty())
    if (auto same = compared(plain)) return same;
  const auto fewer = with_fewer_replicas(plain, scenario);
  if (!fewer) return std::nullopt;
  try {
    return compared(*fewer);
  } catch (const ConfigError&) {  // a layout that needs all replicas, such as one of experts
    return std::nullopt;
  }
}

}  // namespace lockstep::app
