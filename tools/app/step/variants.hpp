#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

/// Result of a variant of a scenario: its step, its memory shortfall, or why it cannot be
/// simulated.
struct VariantResult {
  std::string name;
  std::vector<std::string> overrides{};
  std::optional<TrainingStepResult> result{};
  std::optional<MemoryShortfall> shortfall{};
  std::string problem{};
};

/// Simulates the variants of a scenario with the request's overrides, without suggestions and
/// traces.
[[nodiscard]] std::vector<VariantResult> run_variants(const TrainingStepRequest& request,
                                                      const Scenario& scenario);

}  // namespace lockstep::app
