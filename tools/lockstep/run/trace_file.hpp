#pragma once

#include <string>
#include <utility>

#include "strategies/training/simulate.hpp"

namespace lockstep::cli {

struct RunQuestion;

/// Writes the step as a trace that ui.perfetto.dev opens, all of it or nothing. Throws UsageError
/// for ranks that were not simulated, IoError.
void write_trace(const RunQuestion& question, const SimulatedStep& step);

/// "10 ms..12.5 ms". Throws UsageError.
[[nodiscard]] std::pair<TimePoint, TimePoint> parse_window(const std::string& text);

}  // namespace lockstep::cli
