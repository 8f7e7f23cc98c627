#pragma once

#include <cstdint>

#include "sim/trace/summary.hpp"

namespace lockstep {

/// The mean over a cycle of `every` steps, one of which is `last` and the others `plain`: the mean
/// of every part to the picosecond, including parts of only one of them. Parts still sum up to the
/// step. Ranks, and the legs and operations of the critical path, which are indices into one
/// timeline, are those of `shown`, the step whose timeline is reported. Throws InternalError if
/// their stages differ.
[[nodiscard]] TrainingStepSummary mean_summary(const TrainingStepSummary& plain,
                                               const TrainingStepSummary& last, std::int64_t every,
                                               const TrainingStepSummary& shown);

/// (plain * (every - 1) + last) / every, to the nearest picosecond.
[[nodiscard]] Duration mean_time(Duration plain, Duration last, std::int64_t every);

}  // namespace lockstep
