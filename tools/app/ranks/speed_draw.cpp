#include "tools/app/ranks/speed_draw.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/hash.hpp"

namespace lockstep::app {

namespace {

constexpr double kSteps = 1000;

/// In (0, 1).
double fraction(std::uint64_t random) {
  return (static_cast<double>(random >> 11U) + 0.5) * 0x1p-53;
}

/// Box and Muller, A Note on the Generation of Random Normal Deviates, 1958.
double standard_normal(std::uint64_t seed) {
  const double radius = std::sqrt(-2 * std::log(fraction(splitmix64(seed))));
  return radius * std::cos(2 * std::numbers::pi * fraction(splitmix64(seed + kGoldenGamma)));
}

}  // namespace

double SpeedDraw::of(int rank, std::uint64_t seed) const {
  if (kind == Kind::same) return first;
  constexpr std::uint64_t kPurpose = 0x5350454544U;  // "SPEED": not what draws the ranks
  const std::uint64_t own =
      mix64(seed ^ kPurpose) + static_cast<std::uint64_t>(rank) * mix64(kPurpose);
  double steps = 0;
  if (kind == Kind::uniform) {
    const double lowest = std::round(first * kSteps);
    const double number = std::round(second * kSteps) - lowest + 1;
    steps = lowest + std::floor(fraction(splitmix64(own)) * number);
  } else {
    steps = std::round((first + second * standard_normal(own)) * kSteps);
  }
  return std::clamp(steps, 1.0, most * kSteps) / kSteps;
}

}  // namespace lockstep::app
