#pragma once

#include "tools/lockstep/output.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// A step as one row of figures, the same columns for every scenario.
[[nodiscard]] Report row_of_run(const StepResult& result);

}  // namespace lockstep::cli
