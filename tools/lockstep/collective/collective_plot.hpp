#pragma once

#include <string>

#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

/// Time over size, a line for every algorithm of a report of `lockstep collective`. Throws as
/// plot() does.
void plot_collective(const Report& report, const std::string& target);

}  // namespace lockstep::cli
