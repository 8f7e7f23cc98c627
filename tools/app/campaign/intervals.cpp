#include "tools/app/campaign/intervals.hpp"

#include <cmath>

namespace lockstep::app {

double young_interval(const IntervalInputs& in) {
  return std::sqrt(2 * in.save_s * in.mtbf_s);
}

double daly_interval(const IntervalInputs& in) {
  return std::sqrt(2 * in.save_s * (in.mtbf_s + in.restore_s));
}

// With x = tau/M and c = C/M: the derivative of (exp(x + c) - 1)/x vanishes where
// f(x) = exp(-x - c) - 1 + x = 0, which is convex and rises for x > 0: Newton from above.
double exponential_interval(const IntervalInputs& in) {
  if (!std::isfinite(in.mtbf_s)) return in.mtbf_s;
  const double c = in.save_s / in.mtbf_s;
  double x = 1;
  for (int i = 0; i < 100; ++i) {
    const double power = std::exp(-x - c);
    const double slope = 1 - power;
    if (!(slope > 0)) break;
    const double next = x - (power - 1 + x) / slope;
    if (!(next < x)) break;
    x = next;
  }
  return x * in.mtbf_s;
}

double availability_interval(const IntervalInputs& in) {
  return std::sqrt(2 * (in.mtbf_s + in.restore_s) * in.save_s + in.save_s * in.save_s);
}

std::optional<double> closed_interval(IntervalRule rule, const IntervalInputs& in) {
  switch (rule) {
    case IntervalRule::young:
      return young_interval(in);
    case IntervalRule::daly:
      return daly_interval(in);
    case IntervalRule::exponential:
      return exponential_interval(in);
    case IntervalRule::availability:
      return availability_interval(in);
    case IntervalRule::given:
    case IntervalRule::simulated:
      break;
  }
  return std::nullopt;
}

double exponential_time(double interval_s, const IntervalInputs& in) {
  if (!std::isfinite(in.mtbf_s)) return (interval_s + in.save_s) / interval_s;
  return in.mtbf_s * std::exp(in.restore_s / in.mtbf_s) *
         std::expm1((interval_s + in.save_s) / in.mtbf_s) / interval_s;
}

}  // namespace lockstep::app
