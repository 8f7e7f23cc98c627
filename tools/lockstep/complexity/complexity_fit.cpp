#include "tools/lockstep/complexity/complexity_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace lockstep::cli {

namespace {

constexpr std::array kGrowths = {Growth::constant, Growth::logarithmic, Growth::linear,
                                 Growth::linearithmic, Growth::quadratic};
constexpr std::size_t kFewest = 3;  // points

double value_of(Growth growth, double n) {
  switch (growth) {
    case Growth::constant:
      return 1;
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

/// Root mean square of log y - log f(n), its mean taken out.
double residual_of(Growth growth, const std::vector<GrowthPoint>& points) {
  std::vector<double> errors;
  for (const GrowthPoint& point : points)
    errors.push_back(std::log(point.y) - std::log(value_of(growth, point.n)));
  const double middle = mean(errors);
  double sum = 0;
  for (const double error : errors) sum += (error - middle) * (error - middle);
  return std::sqrt(sum / static_cast<double>(errors.size()));
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
  GrowthFit out{Growth::constant, slope(upper), residual_of(Growth::constant, upper)};
  for (const Growth growth : kGrowths) {
    const double residual = residual_of(growth, upper);
    if (residual >= out.residual) continue;
    out.growth = growth;
    out.residual = residual;
  }
  return out;
}

}  // namespace lockstep::cli
