#pragma once

#include <vector>

#include "tests/simgrid/case_builder.hpp"

namespace lockstep {

/// When each flow of each case ends, in seconds, as SimGrid's max-min model has it. All cases run
/// at once on platforms that share nothing. SimGrid's engine is one per process, so call this once.
[[nodiscard]] std::vector<std::vector<double>> replay_in_simgrid(
    const std::vector<TrafficCase>& cases);

}  // namespace lockstep
