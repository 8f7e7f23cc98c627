#pragma once

#include <cstdint>
#include <optional>

#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// The round, as RoundSimulator counts them from 1 on (0: before the first message), in which a
/// step last touches `chunk`, else, where the schedule comes to a stop at that step, in which it
/// does. None where neither holds. `slots`: in place of the schedule's.
[[nodiscard]] std::optional<std::int64_t> round_of(const Schedule& schedule,
                                                   const ScheduleStepIndex& place,
                                                   const Chunk& chunk,
                                                   std::optional<int> slots = {});

}  // namespace lockstep
