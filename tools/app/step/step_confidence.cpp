#include "tools/app/step/step_confidence.hpp"

#include <filesystem>
#include <system_error>

#include "strategies/measure/confidence/validated_runs.hpp"
#include "tools/app/inputs/cluster_request.hpp"

namespace lockstep::app {

std::optional<Confidence> run_confidence(const Scenario& scenario, Duration step) {
  const std::filesystem::path file = config_folder() + "/validation/residuals.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  return confidence_of(step, run_kind_of(scenario), load_validated_runs(file));
}

}  // namespace lockstep::app
