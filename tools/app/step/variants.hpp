#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

/// A variant of a scenario: its step, by how much it does not fit, or why it cannot be simulated.
struct VariantResult {
  std::string name;
  std::vector<std::string> overrides{};
  std::optional<TrainingStepResult> result{};
  std::optional<MemoryShortfall> shortfall{};
  std::string problem{};
};

/// Simulates the variants of a scenario under the request's own overrides, without suggestions and
/// traces.
[[nodiscard]] std::vector<VariantResult> run_variants(const TrainingStepRequest& request,
                                                      const Scenario& scenario);

}  // namespace lockstep::app
