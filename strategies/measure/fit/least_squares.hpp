#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// Fits of non-negative parameters to relative errors.
namespace lockstep {

/// One measurement: measured = fixed + sum of term * parameter.
struct FitRow {
  std::vector<double> terms{};
  double fixed = 0;
  double measured = 1;  // > 0
};

/// Non-negative parameters that minimize the mean of |fitted / measured - 1|: iteratively
/// reweighted least squares of relative errors by coordinate descent (Lawson and Hanson 1974,
/// chapter 23, for the bound; Schlossmacher 1973 for the weights), which is robust to outliers. All
/// rows need equally many terms; empty without rows.
[[nodiscard]] std::vector<double> fit_non_negative(std::span<const FitRow> rows);

/// fitted / measured - 1.
[[nodiscard]] double relative_error(const FitRow& row, std::span<const double> figures);

/// Minimum of a unimodal function on low..high after `steps` golden-section steps (Kiefer 1953).
template <class Function>
[[nodiscard]] double least_in(double low, double high, int steps, Function&& value) {
  constexpr double kGolden = 0.6180339887498949;
  double a = high - (high - low) * kGolden;
  double b = low + (high - low) * kGolden;
  double at_a = value(a);
  double at_b = value(b);
  for (int i = 0; i < steps; ++i) {
    if (at_a <= at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - (high - low) * kGolden;
      at_a = value(a);
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + (high - low) * kGolden;
      at_b = value(b);
    }
  }
  return at_a <= at_b ? a : b;
}

}  // namespace lockstep
