#pragma once

#include <string>

#include "strategies/calibration/calibration.hpp"

namespace lockstep::app {

/// The text of a calibration file, with sources, as read_calibration() reads it.
[[nodiscard]] std::string calibration_text(const Calibration& calibration);

}  // namespace lockstep::app
