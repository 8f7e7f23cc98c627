#pragma once

#include <vector>

#include "strategies/calibration/measured_machine.hpp"

namespace lockstep {

/// Fits the links between GPUs; default-constructed with fewer than two GPUs.
[[nodiscard]] MachineLinks fit_links(const std::vector<MachineMeasurement>& measurements);

/// Fitted time of a copy without other traffic.
[[nodiscard]] double seconds_of(const MachineLink& link, std::int64_t bytes);

}  // namespace lockstep
