#include "tools/app/step/metrics/step_confidence.hpp"

#include <filesystem>
#include <system_error>

#include "strategies/measure/confidence/validated_runs.hpp"
#include "tools/app/inputs/cluster_request.hpp"

namespace lockstep::app {

namespace {

/// The file of validated runs, if present.
std::optional<std::filesystem::path> residuals_file() {
  const std::filesystem::path file = config_folder() + "/validation/residuals.json";
  std::error_code ignored;
  return std::filesystem::exists(file, ignored) ? std::optional{file} : std::nullopt;
}

/// Measured runs are those of hardware as it was built.
void add_perturbed(const PerturbedHardware& perturbed, RunKind& kind) {
  const auto add = [&kind](bool has, const char* value) {
    if (has) kind.features.emplace("hardware", value);
  };
  add(perturbed.gpus, "with GPUs at changed speeds");
  add(perturbed.links, "with changed links");
  add(perturbed.failed_links, "with failed links");
}

}  // namespace

std::optional<Confidence> run_confidence(const Scenario& scenario,
                                         const PerturbedHardware& perturbed, Duration step) {
  if (scenario.sustained) return std::nullopt;
  const auto file = residuals_file();
  if (!file) return std::nullopt;
  RunKind kind = run_kind_of(scenario);
  add_perturbed(perturbed, kind);
  return confidence_of(step, kind, load_validated_runs(*file));
}

double peak_memory_margin() {
  const auto file = residuals_file();
  return file ? memory_margin(load_memory_errors(*file)) : 0;
}

}  // namespace lockstep::app
