#pragma once

#include <string>
#include <vector>

#include "tools/app/step/run_step.hpp"

namespace lockstep::cli {

/// "+9.23 % against 5.786 s without the changes of GPU speeds, links and NICs, at the same
/// fidelity"; needs a baseline.
[[nodiscard]] std::string baseline_line(const TrainingStepResult& result);

/// "by representatives of the ranks; --fidelity all simulates every rank"; empty: all are.
[[nodiscard]] std::string fidelity_line(const TrainingStepResult& result);

/// Of a step with such changes: what they cost, who was drawn, which routes are rerouted, the
/// fidelity, and which options have no effect.
[[nodiscard]] std::vector<std::string> part_change_lines(const TrainingStepResult& result);

}  // namespace lockstep::cli
