#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lockstep::app {

/// Asymptotic growth with the number of ranks.
enum class Growth : std::uint8_t { constant, logarithmic, linear, linearithmic, quadratic };

/// "O(1)", "O(log N)", "O(N)", "O(N log N)", "O(N^2)".
[[nodiscard]] std::string_view to_string(Growth growth);

struct GrowthPoint {
  double n = 0;
  double y = 0;
};

struct GrowthFit {
  Growth growth = Growth::constant;
  double exponent = 0;  // of N: least-squares slope on logarithmic axes
  double residual = 0;  // of the class: root mean square of relative errors

  /// Whether the class fits the points within about 10 %.
  [[nodiscard]] bool is_close() const { return residual <= 0.1; }
};

/// Fits the upper part of the range, where lower-order terms no longer matter: points with n >=
/// sqrt(least n * largest n), at least three with n >= 2. All zeros are constant. A class is a +
/// b*f(n) with b >= 0, constant is a + b/n: 2(n-1) rounds are linear, and 2(n-1)/n of a message is
/// constant. Chooses the slowest-growing class unless another has less than half its residual.
[[nodiscard]] std::optional<GrowthFit> fit_growth(std::span<const GrowthPoint> points);

}  // namespace lockstep::app
