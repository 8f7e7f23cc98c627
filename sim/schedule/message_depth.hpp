#pragma once

#include <cstdint>
#include <optional>

#include "sim/schedule/schedule.hpp"

/// Length of chains of dependent messages.
namespace lockstep {

/// The longest chain of messages in which each starts after the previous one has ended at the same
/// rank: the number of rounds, also with many lanes and steps without sends. A lane sends all
/// messages of a step at once and receives at no cost. Empty if the schedule deadlocks or more than
/// `most_steps` steps would have to be examined.
[[nodiscard]] std::optional<std::int64_t> message_depth(const Schedule& schedule,
                                                        std::int64_t most_steps = 20'000'000);

/// The same by extrapolation from the first steps of the longest phase, once each step adds the
/// same depth to all lanes; empty if that does not happen within half of the phase.
[[nodiscard]] std::optional<std::int64_t> steady_depth(const Schedule& schedule,
                                                       std::int64_t most_steps = 20'000'000);

}  // namespace lockstep
