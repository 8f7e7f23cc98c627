#pragma once

#include <optional>
#include <string>

#include "strategies/measure/calibration/calibration.hpp"
#include "strategies/measure/machine/measured_machine.hpp"

/// A file of --calibration is one of two: a machine that was measured (`lockstep calibrate
/// --backend`), or figures that were fitted to measured results (`lockstep calibrate --from`).
namespace lockstep::app {

/// The machine; none where the file is the other, or none is given. Throws ConfigError.
[[nodiscard]] std::optional<MeasuredMachine> machine_of(const std::string& file);

/// What was fitted; nothing where none is given. Throws ConfigError, and RequestError for a
/// machine.
[[nodiscard]] Calibration calibration_of(const std::string& file);

}  // namespace lockstep::app
