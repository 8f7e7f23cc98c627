#pragma once

#include <string>

#include "sim/base/units.hpp"
#include "tools/lockstep/output/output.hpp"

/// Cells that several tables have.
namespace lockstep::cli {

/// Seconds for programs, microseconds with two decimals for people.
[[nodiscard]] Cell in_microseconds(Duration time);

/// No value; `shown` stands in tables.
[[nodiscard]] Cell no_value(std::string shown = "-");

}  // namespace lockstep::cli
