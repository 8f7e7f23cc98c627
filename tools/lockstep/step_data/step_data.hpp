#pragma once

#include <cstddef>
#include <string>

#include "tools/app/step/run_step.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// The data of a step for the script of its page, as JSON: operations of ranks and streams with
/// their times, the critical path, the links of each communication, memory over time. Ranks of all
/// stages come first; those that do not fit into `budget` bytes of packed() text are left out, then
/// short operations. `note` of the JSON says what is left out.
[[nodiscard]] std::string step_data(const TrainingStepResult& result, std::size_t budget);

}  // namespace lockstep::cli
