#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/plan/plan.hpp"
#include "tools/app/plan/space.hpp"

/// What a search was, as text that a store holds and from which it can be made again.
namespace lockstep::app {

/// A space as JSON, and back. Errors: ConfigError for text that is none.
[[nodiscard]] std::string space_text(const PlanSpace& space);
[[nodiscard]] PlanSpace space_from(const std::string& text, const std::string& file);

/// Everything that the simulated layouts depend on next to the space: names with JSON text, the
/// same text for the same search.
using StoredOptions = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] StoredOptions stored_options(
    const PlanRequest& request, const std::vector<std::unique_ptr<PlanSetting>>& settings,
    const std::vector<std::string>* current);

/// A request with these options. Errors: ConfigError.
[[nodiscard]] PlanRequest request_from(const StoredOptions& options, const std::string& file);

/// Of all values of all settings, files read: the same models, clusters and devices.
[[nodiscard]] std::string inputs_hash(const std::vector<std::unique_ptr<PlanSetting>>& settings,
                                      const std::string& calibration);

}  // namespace lockstep::app
