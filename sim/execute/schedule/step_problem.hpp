#pragma once

#include <optional>
#include <string>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Channels between two ranks are numbered from 0 on, below this.
inline constexpr int kMostChannels = 1 << 16;

/// What makes a step impossible by itself: a peer, a channel, a block or a named step that does not
/// exist, a local operation between lengths that differ, several messages that are forwarded.
/// The end of a sentence that begins with the step's name ("names rank 9, but there are 8 ranks").
[[nodiscard]] std::optional<std::string> step_problem(const Schedule& schedule, int rank,
                                                      const ScheduleStep& step);

}  // namespace lockstep
