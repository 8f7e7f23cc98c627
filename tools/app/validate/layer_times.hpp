#pragma once

#include <optional>

#include "sim/program/timeline.hpp"

namespace lockstep::app {

/// Forward and backward time of one layer and microbatch.
struct LayerTimes {
  std::optional<Duration> forward{};
  std::optional<Duration> backward{};  // recomputation included
};

/// From the start of a layer's call to its end on the first simulated rank; median over calls.
/// Empty if the program has no layers.
[[nodiscard]] LayerTimes layer_times(const TrainingStepTimeline& timeline);

}  // namespace lockstep::app
