#pragma once

#include <string>

#include "strategies/measure/calibration/calibration.hpp"

namespace lockstep::app {

/// A calibration as its file's text, with sources; what read_calibration() reads.
[[nodiscard]] std::string calibration_text(const Calibration& calibration);

}  // namespace lockstep::app
