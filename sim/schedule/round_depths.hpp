#pragma once

#include <cstdint>
#include <optional>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// message_depth() computed round by round: a phase is examined only until every further round adds
/// one message to each chain. For schedules without slots whose messages are sent and received in
/// steps of equal index and whose dependencies are on the last completed step of another lane;
/// empty otherwise, without a phase, or above `most_steps` examined steps.
[[nodiscard]] std::optional<std::int64_t> depth_by_rounds(const Schedule& schedule,
                                                          std::int64_t most_steps);

}  // namespace lockstep
