#pragma once

#include <optional>
#include <string>

#include "strategies/calibration/calibration.hpp"
#include "strategies/measure/machine/measured_machine.hpp"

/// A --calibration file is either a machine calibration (`lockstep calibrate --backend`) or
/// parameters fitted to measured results (`lockstep calibrate --from`). A file, or the name of a
/// shipped one.
namespace lockstep::app {

/// A name without a slash or ".json" is a shipped calibration unless such a file exists; empty:
/// none. Throws RequestError for an unknown name.
[[nodiscard]] std::string calibration_file(const std::string& name);

/// The machine calibration; none for the other kind or without a file. Throws ConfigError.
[[nodiscard]] std::optional<MeasuredMachine> machine_of(const std::string& file);

/// The fitted parameters; empty without a file. Throws ConfigError, and RequestError for a machine
/// calibration.
[[nodiscard]] Calibration calibration_of(const std::string& file);

}  // namespace lockstep::app
