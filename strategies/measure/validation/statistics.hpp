#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "strategies/measure/validation/comparison.hpp"

/// How far simulated figures are from measured ones.
namespace lockstep {

/// The value below which that share of the values lies, linearly between neighbours (Hyndman and
/// Fan 1996, type 7). `values` in any order, at least one; 0 <= share <= 1.
[[nodiscard]] double quantile(std::vector<double> values, double share);

/// Of signed relative errors. All but `bias` are of their absolute values.
struct ErrorFigures {
  std::size_t count = 0;
  double median = 0;
  double mean = 0;
  double p90 = 0;
  double worst = 0;
  double bias = 0;  // mean of the signed errors
};

[[nodiscard]] ErrorFigures error_figures(std::span<const double> errors);

/// The mean of each figure over groups, each counting once; `count` is the sum.
/// Zeros if there are none.
[[nodiscard]] ErrorFigures mean_of(std::span<const ErrorFigures> groups);

/// Kendall's tau-b between two orders: 1 where they agree on every pair, -1 where on none; ties are
/// allowed for (Kendall 1945). Zero where one order knows no difference. Equal lengths.
[[nodiscard]] double kendall_tau(std::span<const double> a, std::span<const double> b);

/// What the best layout by `simulated` takes over the truly fastest, less one: 0 where it is the
/// same. Of equally good ones the first. Equal lengths, at least one.
[[nodiscard]] double regret(std::span<const double> measured, std::span<const double> simulated);

/// How well the ranking of layouts is met, over sets of rows that differ in layout alone.
struct RankingFigures {
  std::size_t sets = 0;  // with at least three rows
  std::size_t rows = 0;  // in them
  double tau = 0;        // mean over sets
  double regret = 0;     // mean over sets
  double worst_regret = 0;
};

[[nodiscard]] RankingFigures ranking_figures(std::span<const Comparison> rows);

/// What one flat utilisation of the peak, the same for all rows, would err. It is fitted to the
/// rows: half of them come out too long, half too short. Rows without `at_peak` are ignored.
struct FlatUtilisation {
  double utilisation = 0;  // of the dense peak
  ErrorFigures errors{};
};

[[nodiscard]] FlatUtilisation flat_utilisation(std::span<const Comparison> rows);

}  // namespace lockstep
