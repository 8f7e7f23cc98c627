#pragma once

#include <optional>
#include <string>

#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// What makes a step impossible by itself: a peer, a block or a named step that does not exist.
/// The end of a sentence that begins with the step's name ("names rank 9, but there are 8 ranks").
[[nodiscard]] std::optional<std::string> step_problem(const Schedule& schedule, int rank,
                                                      const Step& step);

}  // namespace lockstep
