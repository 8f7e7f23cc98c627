#pragma once

#include <string>

#include "strategies/calibration/calibration.hpp"

/// A --calibration file: a file, or the name of a shipped one.
namespace lockstep::app {

/// A name without a slash or ".json" is a shipped calibration unless such a file exists; empty:
/// none. Throws RequestError for an unknown name.
[[nodiscard]] std::string calibration_file(const std::string& name);

/// All parts; none without a file. Throws ConfigError.
[[nodiscard]] Calibration calibration_of(const std::string& name);

/// The same for commands that simulate no measured machine. Throws RequestError for a machine
/// calibration.
[[nodiscard]] Calibration fitted_calibration_of(const std::string& name);

}  // namespace lockstep::app
