#include "tools/app/sensitivity/range.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::app {

namespace {

/// Simulations differ from a line by the rounding of operations to picoseconds: half of what is
/// promised is left for values between the simulated ones.
constexpr double kTolerance = kLinearTolerance / 2;
constexpr int kHalvings = 9;  // of the logarithm of the limit, until a range counts as none
constexpr int kRefinements = 5;
constexpr int kKneeSteps = 9;
/// Far enough to tell a slope from rounding, near enough to be one.
constexpr double kSmallStep = 1.001;

double seconds_at(FigurePoints& points, double factor) {
  return points.at(factor).step.seconds();
}

/// Seconds per unit of the variable between the value as it is and `factor` times it.
double slope_to(FigurePoints& points, double factor) {
  return (seconds_at(points, factor) - seconds_at(points, 1)) / (points.variable(factor) - 1);
}

bool between(double factor, double end) {
  return end > 1 ? factor > 1 && factor < end : factor < 1 && factor > end;
}

/// Whether all simulated steps up to `end`, and the one in the middle, lie on the line to it. The
/// step time of a fixed order of work is convex in the variable, so that one point on the line
/// says it of all.
bool is_linear(FigurePoints& points, double end) {
  const double now = seconds_at(points, 1);
  const double slope = slope_to(points, end);
  (void)points.at(std::sqrt(end));
  return std::all_of(points.known().begin(), points.known().end(), [&](const auto& point) {
    if (!between(point.first, end)) return true;
    const double expected = now + slope * (points.variable(point.first) - 1);
    return std::abs(point.second.step.seconds() - expected) <= kTolerance * now;
  });
}

/// Uses whose time on the path differs most from what the line through `end` says of `beyond`.
void note_change(FigurePoints& points, double end, double beyond, RangeSide& side) {
  const FigurePoint now = points.at(1);
  const FigurePoint last = points.at(end);
  const FigurePoint there = points.at(beyond);
  const double share = (points.variable(beyond) - 1) / (points.variable(end) - 1);
  std::map<TimeUse, double> excess;
  for (const auto& [use, length] : there.path) excess[use] += length.seconds();
  for (const auto& [use, length] : last.path) excess[use] -= share * length.seconds();
  for (const auto& [use, length] : now.path) excess[use] -= (1 - share) * length.seconds();
  const double least = kTolerance * now.step.seconds();
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [less, more] = std::minmax_element(excess.begin(), excess.end(), by_time);
  if (excess.empty()) return;
  if (more->second > least) side.more = more->first;
  if (less->second < -least) side.less = less->first;
}

/// The end of the range: a factor up to which steps are linear, and one up to which they are not.
struct End {
  double linear = 1;
  double beyond = 1;  // 1: linear up to the limit
};

End end_of(FigurePoints& points, double limit) {
  if (is_linear(points, limit)) return {limit, 1};
  double share = 1;  // of the limit's logarithm
  for (int i = 0; i < kHalvings; ++i) {
    const double beyond = share;
    share /= 2;
    if (!is_linear(points, std::pow(limit, share))) continue;
    double low = share;
    double high = beyond;
    for (int j = 0; j < kRefinements; ++j) {
      const double middle = (low + high) / 2;
      (is_linear(points, std::pow(limit, middle)) ? low : high) = middle;
    }
    return {std::pow(limit, low), std::pow(limit, high)};
  }
  return {1, std::pow(limit, share)};
}

}  // namespace

FigurePoint point_of(const TrainingStepResult& result) {
  FigurePoint out{result.throughput.step};
  for (const PathShare& each : result.summary.path) out.path[each.use] += each.length;
  return out;
}

FigurePoints::FigurePoints(const TrainingStepRequest& request, const Figure& figure,
                           const TrainingStepResult& now)
    : request_{&request}, figure_{&figure} {
  points_.emplace(1, point_of(now));
}

const FigurePoint& FigurePoints::at(double factor) {
  const auto known = points_.find(factor);
  if (known != points_.end()) return known->second;
  return points_.emplace(factor, point_of(step_with(*request_, *figure_, factor))).first->second;
}

RangeSide range_side(FigurePoints& points, double limit, bool search) {
  RangeSide out;
  const End end = search ? end_of(points, limit) : End{};
  out.factor = end.linear;
  out.open = search && end.beyond == 1;
  out.beyond_factor = end.beyond;
  const double small = limit > 1 ? kSmallStep : 1 / kSmallStep;
  out.slope_s = slope_to(points, out.factor == 1 ? small : out.factor);
  const double sign = points.figure().is_rate() ? -1 : 1;
  out.elasticity = sign * out.slope_s / seconds_at(points, 1);
  if (out.elasticity == 0) out.elasticity = 0;  // no -0
  out.end = points.at(out.factor).step;
  if (out.beyond_factor == 1) return out;
  out.beyond = points.at(out.beyond_factor).step;
  if (out.factor != 1) note_change(points, out.factor, out.beyond_factor, out);
  return out;
}

std::optional<double> knee_of(FigurePoints& points, Duration best, double limit) {
  const bool rate = points.figure().is_rate();
  const auto good = [&](double factor) {
    return seconds_at(points, factor) <= (1 + kKneeFraction) * best.seconds();
  };
  const double worst = rate ? 1 / limit : limit;
  if (good(worst)) return std::nullopt;
  double bad = std::log(worst);
  double fine = std::log(good(1) ? 1 : far_better(points.figure()));
  if (fine != 0) bad = 0;
  for (int i = 0; i < kKneeSteps; ++i) {
    const double middle = (bad + fine) / 2;
    (good(std::exp(middle)) ? fine : bad) = middle;
  }
  return std::exp(fine);
}

}  // namespace lockstep::app
