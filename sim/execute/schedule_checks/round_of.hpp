#pragma once

#include <cstdint>
#include <optional>

#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// The round (1-based as in RoundSimulator; 0: before the first message) in which a step last
/// accesses `chunk`, or in which the schedule halts at that step. None otherwise. `slots`:
/// overrides the schedule's.
[[nodiscard]] std::optional<std::int64_t> round_of(const Schedule& schedule,
                                                   const ScheduleStepIndex& place,
                                                   const Chunk& chunk,
                                                   std::optional<int> slots = {});

}  // namespace lockstep
