#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// message_depth() of a schedule without slots, ranks that cannot differ folded into one: for
/// schedules that are too large to be walked. Takes about as long as a folded replay. Empty where
/// the schedule has slots or deadlocks.
[[nodiscard]] std::optional<std::int64_t> folded_message_depth(
    const std::shared_ptr<const Schedule>& schedule);

}  // namespace lockstep
