#pragma once

#include <optional>

#include "sim/program/timeline.hpp"
#include "strategies/layout/parallel_config.hpp"

namespace lockstep::app {

/// With the zero-bubble schedules of Qi et al.: sim/trace/step_period.hpp. With others the stages
/// of a step wait for each other at its end: none.
[[nodiscard]] std::optional<Duration> time_in_a_row(const ParallelConfig& parallel,
                                                    const TrainingStepTimeline& timeline);

}  // namespace lockstep::app
