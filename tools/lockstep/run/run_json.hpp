#pragma once

#include <string>

#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

[[nodiscard]] std::string json_of_run(const RunOptions& options, const StepResult& result);

}  // namespace lockstep::cli
