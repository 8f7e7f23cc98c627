#include "tools/lockstep/run/run_confidence.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "strategies/validation/checked_runs.hpp"
#include "tools/lockstep/cluster_options.hpp"

namespace lockstep::cli {

std::optional<Confidence> run_confidence(const Scenario& scenario, Duration step) {
  const std::filesystem::path file = config_folder() + "/validation/residuals.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  return confidence_of(step, run_kind_of(scenario), load_checked_runs(file));
}

std::string interval_words(const Confidence& confidence) {
  return fmt::format("{} to {} with {:.0f} %, by the {} nearest checked runs ({})",
                     to_string(confidence.low), to_string(confidence.high), 100 * confidence.share,
                     confidence.runs, fmt::join(confidence.groups, ", "));
}

std::vector<std::string> outside_words(const Confidence& confidence) {
  std::vector<std::string> out;
  for (const Unchecked& each : confidence.outside)
    out.push_back(
        fmt::format("outside all that was checked against measurements: {} ({}; checked: {})",
                    each.property, each.value, each.checked));
  return out;
}

}  // namespace lockstep::cli
