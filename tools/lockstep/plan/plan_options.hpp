#pragma once

#include "tools/app/plan/metric.hpp"
#include "tools/app/plan/space.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// Declares the options of a search space: SCENARIO, or --model and --cluster; --vary, --fix,
/// --space, and overrides of scenario values.
void add_space(const Command& command, SpaceRequest& space);
/// Declares --space alone.
void add_space_file(const Command& command, SpaceRequest& space);

/// Declares --price, --watts, --pue and --price-kwh.
void add_prices(const Command& command, PlanPrices& prices);

/// Of --set-rank and its like, and --fidelity. Throws UsageError.
[[nodiscard]] app::PartChanges part_changes(const RunOptions& options);

}  // namespace lockstep::cli
