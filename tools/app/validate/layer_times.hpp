#pragma once

#include <optional>

#include "sim/program/timeline.hpp"

namespace lockstep::app {

/// What one layer takes forward and backward, for one microbatch.
struct LayerTimes {
  std::optional<Duration> forward{};
  std::optional<Duration> backward{};  // what is recomputed included
};

/// From the first operation of a layer's call to the end of its last on the first simulated rank;
/// the median over the calls. Nothing where the program has no layers.
[[nodiscard]] LayerTimes layer_times(const TrainingStepTimeline& timeline);

}  // namespace lockstep::app
