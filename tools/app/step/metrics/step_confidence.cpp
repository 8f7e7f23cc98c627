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

}  // namespace

std::optional<Confidence> run_confidence(const Scenario& scenario, Duration step) {
  if (scenario.sustained) return std::nullopt;
  const auto file = residuals_file();
  if (!file) return std::nullopt;
  return confidence_of(step, run_kind_of(scenario), load_validated_runs(*file));
}

double peak_memory_margin() {
  const auto file = residuals_file();
  return file ? memory_margin(load_memory_errors(*file)) : 0;
}

}  // namespace lockstep::app
