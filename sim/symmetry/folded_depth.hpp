#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// message_depth() of a schedule without slots, with equivalent ranks folded: for schedules too
/// large to walk. Costs about as much as a folded replay. Empty if the schedule has slots or
/// deadlocks.
[[nodiscard]] std::optional<std::int64_t> folded_message_depth(
    const std::shared_ptr<const Schedule>& schedule);

}  // namespace lockstep
