#pragma once

#include <optional>
#include <string>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Channels between two ranks are 0 .. kMostChannels - 1.
inline constexpr int kMostChannels = 1 << 16;

/// Why a step is invalid by itself: a missing peer, channel, block or dependency, a local operation
/// between different lengths, several forwarded messages. The end of a sentence that starts with
/// the step's name ("names rank 9, but there are 8 ranks").
[[nodiscard]] std::optional<std::string> step_problem(const Schedule& schedule, int rank,
                                                      const ScheduleStep& step);

}  // namespace lockstep
