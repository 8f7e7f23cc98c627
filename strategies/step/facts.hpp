#pragma once

#include <string>

#include "strategies/layout/passes.hpp"

namespace lockstep {

[[nodiscard]] std::string_view to_string(Fact fact);

/// Where a fact does not hold of a step, in words; empty where it holds everywhere.
[[nodiscard]] std::string violation(Fact fact, const TrainingStepAssembly& step);

}  // namespace lockstep
