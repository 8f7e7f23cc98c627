#pragma once

#include <string>

#include "tools/app/plan/plan.hpp"

namespace lockstep::app {

struct StoredPlanRequest {
  PlanRequest plan{};
  std::string store{};         // SQLite file for the results
  bool resume = false;         // whether an existing file is continued
  std::string tool_version{};  // recorded in the store
};

/// plan() with results recorded in a store while it searches. Layouts in the store are not
/// simulated again. Errors: as plan() and PlanStore.
[[nodiscard]] PlanResult plan_into_store(const StoredPlanRequest& request);

}  // namespace lockstep::app
