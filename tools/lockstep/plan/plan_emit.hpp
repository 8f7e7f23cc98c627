#pragma once

#include <string>

#include "tools/app/plan/launch/launch_flags.hpp"
#include "tools/app/plan/plan.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Launch flags of the best layout; comments give the layout's metrics and each setting that the
/// framework cannot express.
[[nodiscard]] std::string emitted(LaunchFramework framework, const PlanResult& result);

/// The best layout as a scenario file, with every default.
[[nodiscard]] std::string emitted_scenario(const PlanResult& result);

/// Adds the launch flags, or the scenario, to the report's JSON.
void add_emitted(LaunchFramework framework, const PlanResult& result, Report& report);
void add_emitted_scenario(const PlanResult& result, Report& report);

}  // namespace lockstep::cli
