#pragma once

#include <string>

#include "strategies/step/simulate.hpp"

namespace lockstep::app {

struct TrainingStepRequest;

/// Writes the step as a trace for ui.perfetto.dev, atomically. Throws RequestError for ranks that
/// were not simulated, IoError.
void write_trace(const TrainingStepRequest& request, const SimulatedTrainingStep& step);

}  // namespace lockstep::app
