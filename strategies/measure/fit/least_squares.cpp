#include "strategies/measure/fit/least_squares.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep {

namespace {

constexpr int kReweighted = 20;
constexpr int kSweeps = 20'000;
constexpr double kSettled = 1e-12;
/// Errors below this weigh alike: a row that is met exactly must not weigh without bound.
constexpr double kSmallError = 0.02;

/// The normal equations of weighted relative errors, with columns scaled to length one.
class NormalEquations {
 public:
  NormalEquations(std::span<const FitRow> rows, std::span<const double> weights)
      : size_{rows.front().terms.size()},
        matrix_(size_ * size_, 0),
        right_(size_, 0),
        scale_(size_, 1) {
    for (std::size_t i = 0; i < rows.size(); ++i) add(rows[i], weights[i]);
    for (std::size_t j = 0; j < size_; ++j)
      if (at(j, j) > 0) scale_[j] = std::sqrt(at(j, j));
  }

  /// From `figures` on.
  [[nodiscard]] std::vector<double> solve(const std::vector<double>& figures) const {
    std::vector<double> scaled(size_);
    for (std::size_t j = 0; j < size_; ++j) scaled[j] = figures[j] * scale_[j];
    for (int sweep = 0; sweep < kSweeps && improve(scaled) > kSettled; ++sweep) {
    }
    for (std::size_t j = 0; j < size_; ++j) scaled[j] /= scale_[j];
    return scaled;
  }

 private:
  [[nodiscard]] double& at(std::size_t j, std::size_t k) { return matrix_[j * size_ + k]; }
  [[nodiscard]] double at(std::size_t j, std::size_t k) const { return matrix_[j * size_ + k]; }

  void add(const FitRow& row, double weight) {
    const double unit = 1 / row.measured;
    for (std::size_t j = 0; j < size_; ++j) {
      right_[j] += weight * row.terms[j] * unit * (row.measured - row.fixed) * unit;
      for (std::size_t k = 0; k < size_; ++k)
        at(j, k) += weight * row.terms[j] * unit * row.terms[k] * unit;
    }
  }

  /// Each figure in turn at its best; returns the largest change.
  [[nodiscard]] double improve(std::vector<double>& scaled) const {
    double change = 0;
    for (std::size_t j = 0; j < size_; ++j) {
      if (at(j, j) <= 0) continue;
      double best = right_[j] / scale_[j];
      for (std::size_t k = 0; k < size_; ++k)
        if (k != j) best -= at(j, k) / (scale_[j] * scale_[k]) * scaled[k];
      best = std::max(0.0, best);
      change = std::max(change, std::abs(best - scaled[j]));
      scaled[j] = best;
    }
    return change;
  }

  std::size_t size_;
  std::vector<double> matrix_;
  std::vector<double> right_;
  std::vector<double> scale_;
};

}  // namespace

double relative_error(const FitRow& row, std::span<const double> figures) {
  double fitted = row.fixed;
  for (std::size_t j = 0; j < figures.size(); ++j) fitted += row.terms[j] * figures[j];
  return fitted / row.measured - 1;
}

std::vector<double> fit_non_negative(std::span<const FitRow> rows) {
  if (rows.empty()) return {};
  std::vector<double> figures(rows.front().terms.size(), 0);
  std::vector<double> weights(rows.size(), 1);
  for (int i = 0; i < kReweighted; ++i) {
    figures = NormalEquations{rows, weights}.solve(figures);
    for (std::size_t r = 0; r < rows.size(); ++r)
      weights[r] = 1 / std::max(kSmallError, std::abs(relative_error(rows[r], figures)));
  }
  return figures;
}

}  // namespace lockstep
