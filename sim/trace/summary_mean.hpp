#pragma once

#include <cstdint>

#include "sim/trace/summary.hpp"

namespace lockstep {

/// The mean step of `every`, of which one is `last` and all others are `plain`: of every part its
/// mean, to the picosecond, parts that only one of the two has included. The parts still add up to
/// the step. Ranks are those of `last`, and so are the legs of the critical path.
/// Errors: InternalError where the two have different stages.
[[nodiscard]] TrainingStepSummary mean_summary(const TrainingStepSummary& plain,
                                               const TrainingStepSummary& last, std::int64_t every);

/// (plain * (every - 1) + last) / every, to the nearest picosecond.
[[nodiscard]] Duration mean_time(Duration plain, Duration last, std::int64_t every);

}  // namespace lockstep
