#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lockstep::app {

/// How something grows with the number of ranks.
enum class Growth : std::uint8_t { constant, logarithmic, linear, linearithmic, quadratic };

/// "O(1)", "O(log N)", "O(N)", "O(N log N)", "O(N^2)".
[[nodiscard]] std::string_view to_string(Growth growth);

struct GrowthPoint {
  double n = 0;
  double y = 0;
};

struct GrowthFit {
  Growth growth = Growth::constant;
  double exponent = 0;  // of N: the slope on logarithmic axes, by least squares
  double residual = 0;  // of the class: root mean square of the relative error

  /// Whether the class describes the points to within some ten percent.
  [[nodiscard]] bool is_close() const { return residual <= 0.1; }
};

/// Fits the upper part of the range, where what grows slowest no longer shows: the points with
/// n >= sqrt(least n * largest n), of which there must be three with n >= 2. All zeros are
/// constant. A class is a + b*f(n) with b >= 0, a constant a + b/n: 2(n-1) rounds are linear, a
/// ring whose bytes take most of its time is linear too, and 2(n-1)/n of a message is constant. Of
/// the classes the one that grows slowest, unless another leaves less than half its residual.
[[nodiscard]] std::optional<GrowthFit> fit_growth(std::span<const GrowthPoint> points);

}  // namespace lockstep::app
