#pragma once

#include <cstdint>
#include <optional>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// What message_depth() says, found round by round: a phase is walked only until every further
/// round adds one message to each chain. For schedules without slots in which messages are sent and
/// received in steps of the same number, and steps wait for the last one that another lane has done
/// by then; nothing where that does not hold, where there is no phase, or beyond `most_steps` steps
/// that have to be looked at.
[[nodiscard]] std::optional<std::int64_t> depth_by_rounds(const Schedule& schedule,
                                                          std::int64_t most_steps);

}  // namespace lockstep
