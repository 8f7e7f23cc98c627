#pragma once

#include <string>

#include "sim/base/units.hpp"

namespace lockstep {

/// As a file can have it, exact where the rate is whole bytes per second: "32 GB/s", "500 MB/s".
[[nodiscard]] std::string rate_text(Rate rate);

/// As networks are sold: "200 Gb/s".
[[nodiscard]] std::string network_rate_text(Rate rate);

}  // namespace lockstep
