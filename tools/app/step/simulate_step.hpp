#pragma once

#include <memory>

#include "tools/app/step/prepared_step.hpp"

namespace lockstep::app {

/// Throws Refusal for a deadlock and for steps that are too large.
[[nodiscard]] SimulatedTrainingStep simulate_step(const PreparedTrainingStep& prepared);
/// The same for another program of the same scenario.
[[nodiscard]] SimulatedTrainingStep simulate_step(const PreparedTrainingStep& prepared,
                                                  const ParallelConfig& parallel,
                                                  const std::shared_ptr<const Program>& program,
                                                  const RolePrograms& roles);

}  // namespace lockstep::app
