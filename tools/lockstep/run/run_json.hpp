#pragma once

#include <string>

#include "tools/lockstep/run/run_step.hpp"

namespace lockstep::cli {

[[nodiscard]] std::string json_of_run(const RunQuestion& question, const RunAnswer& answer);

}  // namespace lockstep::cli
