#pragma once

#include <vector>

#include "strategies/measure/machine/measured_machine.hpp"

namespace lockstep {

/// Links between GPUs from what was measured of them; without several GPUs as it was made.
[[nodiscard]] MachineLinks fit_links(const std::vector<MachineMeasurement>& measurements);

/// What a copy takes by the fit, alone.
[[nodiscard]] double seconds_of(const MachineLink& link, std::int64_t bytes);

}  // namespace lockstep
