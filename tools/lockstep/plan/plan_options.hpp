#pragma once

#include "tools/app/plan/metric.hpp"
#include "tools/app/plan/space.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// SCENARIO, or --model and --cluster; --vary, --fix, --space and the values of a scenario.
void add_space(const Command& command, SpaceRequest& space);
/// --space.
void add_space_file(const Command& command, SpaceRequest& space);

/// --price, --watts, --pue, --price-kwh.
void add_prices(const Command& command, PlanPrices& prices);

}  // namespace lockstep::cli
