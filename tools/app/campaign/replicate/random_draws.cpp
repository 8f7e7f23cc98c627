#include "tools/app/campaign/replicate/random_draws.hpp"

#include <cmath>

namespace lockstep::app {

// x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...) with
// s = (m-1)/(m+1), |s| <= 0.1716: the term s^25/25 is below 3e-21.
double portable_log(double x) {
  constexpr double kSqrtHalf = 0.70710678118654752440;
  constexpr double kLn2 = 0.69314718055994530942;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int power = 23; power >= 1; power -= 2) sum = sum * square + 1.0 / power;
  return exponent * kLn2 + 2 * s * sum;
}

double exponential(std::uint64_t bits) {
  return -portable_log(1 - unit_interval(bits));  // of (0, 1]
}

}  // namespace lockstep::app
