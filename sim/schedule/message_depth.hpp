#pragma once

#include <cstdint>
#include <optional>

#include "sim/schedule/schedule.hpp"

/// How many messages of a schedule follow one another.
namespace lockstep {

/// The longest chain of messages of which each begins when the one before has ended, at the same
/// rank: rounds, also where a rank has many lanes and steps that send nothing. A lane sends one
/// step's messages at once and takes what has arrived at no cost. Nothing if the schedule
/// deadlocks or has more than `most_steps` steps that have to be looked at.
[[nodiscard]] std::optional<std::int64_t> message_depth(const Schedule& schedule,
                                                        std::int64_t most_steps = 20'000'000);

/// The same from the first steps of its longest phase, as soon as each of these is seen to make all
/// lanes as much deeper as the one before; nothing where that does not show in half of the phase.
[[nodiscard]] std::optional<std::int64_t> steady_depth(const Schedule& schedule,
                                                       std::int64_t most_steps = 20'000'000);

}  // namespace lockstep
