#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/plan/plan.hpp"
#include "tools/app/plan/space.hpp"

/// Serialization of a search for stores.
namespace lockstep::app {

/// A space as JSON, and back. Errors: ConfigError for invalid text.
[[nodiscard]] std::string space_text(const PlanSpace& space);
[[nodiscard]] PlanSpace space_from(const std::string& text, const std::string& file);

/// Everything besides the space that simulated layouts depend on, as names with canonical JSON.
using StoredOptions = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] StoredOptions stored_options(
    const PlanRequest& request, const std::vector<std::unique_ptr<PlanSetting>>& settings,
    const std::vector<std::string>* current);

/// A request with these options; of its changes, those of the simulation as JSON alone. Errors:
/// ConfigError.
[[nodiscard]] PlanRequest request_from(const StoredOptions& options, const std::string& file);

/// Hash of all settings with their files' contents: models, clusters, devices.
[[nodiscard]] std::string inputs_hash(const std::vector<std::unique_ptr<PlanSetting>>& settings,
                                      const std::string& calibration);

}  // namespace lockstep::app
