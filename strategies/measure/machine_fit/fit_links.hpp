#pragma once

#include <vector>

#include "strategies/measure/machine/measured_machine.hpp"

namespace lockstep {

/// Links between GPUs from what was measured of them; without several GPUs as it was made.
[[nodiscard]] BoxLinks fit_links(const std::vector<BoxMeasurement>& measurements);

/// What a copy takes by the fit, alone.
[[nodiscard]] double seconds_of(const BoxLink& link, std::int64_t bytes);

}  // namespace lockstep
