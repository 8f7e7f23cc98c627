#pragma once

#include <string>

#include "sim/base/units.hpp"

namespace lockstep {

/// For files, exact for whole bytes per second: "32 GB/s", "500 MB/s".
[[nodiscard]] std::string rate_text(Rate rate);

/// In the units of network products: "200 Gb/s".
[[nodiscard]] std::string network_rate_text(Rate rate);

}  // namespace lockstep
