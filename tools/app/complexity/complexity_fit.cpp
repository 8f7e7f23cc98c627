#include "tools/app/complexity/complexity_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace lockstep::app {

namespace {

constexpr std::array kGrowths = {Growth::constant, Growth::logarithmic, Growth::linear,
                                 Growth::linearithmic, Growth::quadratic};
constexpr std::size_t kFewest = 3;  // points

/// What a class makes of a number of ranks: y is a + b * this.
double term_of(Growth growth, double n) {
  switch (growth) {
    case Growth::constant:
      return 1 / n;
    case Growth::logarithmic:
      return std::log2(n);
    case Growth::linear:
      return n;
    case Growth::linearithmic:
      return n * std::log2(n);
    case Growth::quadratic:
      break;
  }
  return n * n;
}

std::vector<GrowthPoint> upper_part(std::span<const GrowthPoint> points) {
  const auto [least, most] = std::ranges::minmax_element(points, {}, &GrowthPoint::n);
  const double from = std::max(2.0, std::sqrt(least->n * most->n));
  std::vector<GrowthPoint> out;
  for (const GrowthPoint& point : points)
    if (point.n >= from) out.push_back(point);
  return out;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Of log y over log n.
double slope(const std::vector<GrowthPoint>& points) {
  std::vector<double> x;
  std::vector<double> y;
  for (const GrowthPoint& point : points) {
    x.push_back(std::log(point.n));
    y.push_back(std::log(point.y));
  }
  const double x_mean = mean(x);
  const double y_mean = mean(y);
  double both = 0;
  double square = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - x_mean) * (y[i] - y_mean);
    square += (x[i] - x_mean) * (x[i] - x_mean);
  }
  return square > 0 ? both / square : 0;
}

/// Sums over points of weight, x, y, x*x and x*y, all divided by y*y: errors are relative.
struct Sums {
  double one = 0, x = 0, y = 0, xx = 0, xy = 0;
};

Sums sums_of(Growth growth, const std::vector<GrowthPoint>& points) {
  Sums out;
  for (const GrowthPoint& point : points) {
    const double weight = 1 / (point.y * point.y);
    const double x = term_of(growth, point.n);
    out.one += weight;
    out.x += weight * x;
    out.y += weight * point.y;
    out.xx += weight * x * x;
    out.xy += weight * x * point.y;
  }
  return out;
}

/// Root mean square of the relative error of the best a + b * x; none where that falls with n.
std::optional<double> residual_of(Growth growth, const std::vector<GrowthPoint>& points) {
  const Sums sums = sums_of(growth, points);
  const double spread = sums.one * sums.xx - sums.x * sums.x;
  const double b = spread > 0 ? (sums.one * sums.xy - sums.x * sums.y) / spread : 0;
  if (b < 0 && growth != Growth::constant) return std::nullopt;
  const double a = (sums.y - b * sums.x) / sums.one;
  double sum = 0;
  for (const GrowthPoint& point : points) {
    const double error = (a + b * term_of(growth, point.n)) / point.y - 1;
    sum += error * error;
  }
  return std::sqrt(sum / static_cast<double>(points.size()));
}

}  // namespace

std::string_view to_string(Growth growth) {
  constexpr std::array<std::string_view, kGrowths.size()> kNames = {"O(1)", "O(log N)", "O(N)",
                                                                    "O(N log N)", "O(N^2)"};
  return kNames.at(static_cast<std::size_t>(growth));
}

std::optional<GrowthFit> fit_growth(std::span<const GrowthPoint> points) {
  if (points.empty()) return std::nullopt;
  const std::vector<GrowthPoint> upper = upper_part(points);
  if (upper.size() < kFewest) return std::nullopt;
  const auto is_zero = [](const GrowthPoint& point) { return point.y <= 0; };
  if (std::ranges::all_of(upper, is_zero)) return GrowthFit{};
  if (std::ranges::any_of(upper, is_zero)) return std::nullopt;
  constexpr double kNegligible = 1e-3;  // residual of what does not grow to speak of
  GrowthFit out{Growth::constant, slope(upper), *residual_of(Growth::constant, upper)};
  for (const Growth growth : kGrowths) {
    const auto residual = residual_of(growth, upper);
    if (!residual || out.residual < kNegligible || *residual >= 0.5 * out.residual) continue;
    out.growth = growth;
    out.residual = *residual;
  }
  return out;
}

}  // namespace lockstep::app
