#pragma once

#include <cstdint>

namespace lockstep {

/// How many times as long the slowest of so many devices of one kind is expected to take under
/// load as their mean, where their times spread by `spread` (a standard deviation over the mean):
/// ranks of a step wait for each other, so that is the pace of all. 1 if there is one device.
/// Order statistics of the normal distribution by Blom 1958: quantile (n - 3/8) / (n + 1/4).
[[nodiscard]] double slowest_of(std::int64_t devices, double spread);

}  // namespace lockstep
