#pragma once

#include <cstdint>

#include "sim/trace/summary.hpp"

namespace lockstep {

/// The mean over a cycle of `every` steps, one of which is `last` and the others `plain`: the mean
/// of every part to the picosecond, including parts of only one of them. Parts still sum up to the
/// step. Ranks, and the legs and operations of the critical path, are those of `last`. Throws
/// InternalError if their stages differ.
[[nodiscard]] TrainingStepSummary mean_summary(const TrainingStepSummary& plain,
                                               const TrainingStepSummary& last, std::int64_t every);

/// (plain * (every - 1) + last) / every, to the nearest picosecond.
[[nodiscard]] Duration mean_time(Duration plain, Duration last, std::int64_t every);

}  // namespace lockstep
