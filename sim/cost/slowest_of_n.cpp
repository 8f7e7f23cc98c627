#include "sim/cost/slowest_of_n.hpp"

#include <cmath>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

constexpr double kFarthest = 10;  // standard deviations: beyond 10^20 devices
constexpr int kHalvings = 60;

/// Where the normal distribution has so much of itself below, by halving.
double quantile(double below) {
  double low = 0;
  double high = kFarthest;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    const double share = std::erfc(-middle / std::sqrt(2.0)) / 2;
    (share < below ? low : high) = middle;
  }
  return low;
}

}  // namespace

double slowest_of(std::int64_t devices, double spread) {
  LOCKSTEP_CHECK(devices > 0 && spread >= 0);
  if (devices == 1) return 1;
  const auto n = static_cast<double>(devices);
  return 1 + spread * quantile((n - 0.375) / (n + 0.25));
}

}  // namespace lockstep
