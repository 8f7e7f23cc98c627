#pragma once

#include <cstdint>

namespace lockstep {

/// Expected time of the slowest of `devices` devices over their mean, if times have relative
/// standard deviation `spread`: the pace of ranks that wait for each other. 1 for one device.
/// Normal order statistics by Blom 1958: quantile (n - 3/8) / (n + 1/4).
[[nodiscard]] double slowest_of(std::int64_t devices, double spread);

}  // namespace lockstep
