#pragma once

#include <string>

#include "strategies/step/simulate.hpp"

namespace lockstep::app {

struct StepRequest;

/// Writes the step as a trace that ui.perfetto.dev opens, all of it or nothing. Throws RequestError
/// for ranks that were not simulated, IoError.
void write_trace(const StepRequest& request, const SimulatedStep& step);

}  // namespace lockstep::app
