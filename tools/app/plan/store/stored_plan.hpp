#pragma once

#include <string>

#include "tools/app/plan/plan.hpp"

namespace lockstep::app {

struct StoredPlanRequest {
  PlanRequest plan{};
  std::string store{};         // SQLite file that takes the results
  bool resume = false;         // whether that file may be there, to be continued
  std::string tool_version{};  // that the store names
};

/// The result of plan(), whose simulated layouts go to a file while it searches. What the file has
/// is not simulated again. Errors: as plan() and PlanStore.
[[nodiscard]] PlanResult plan_into_store(const StoredPlanRequest& request);

}  // namespace lockstep::app
