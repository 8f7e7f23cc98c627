#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "strategies/measure/validation/comparison.hpp"

/// Statistics of errors between simulated and measured values.
namespace lockstep {

/// Quantile by linear interpolation (Hyndman and Fan 1996, type 7). Requires 0 <= share <= 1 and at
/// least one value, in any order.
[[nodiscard]] double quantile(std::vector<double> values, double share);

/// Statistics of signed relative errors; all but `bias` of absolute values.
struct ErrorFigures {
  std::size_t count = 0;
  double median = 0;
  double mean = 0;
  double p90 = 0;
  double worst = 0;
  double bias = 0;  // mean of the signed errors
};

[[nodiscard]] ErrorFigures error_figures(std::span<const double> errors);

/// Mean of each statistic over groups, each weighted equally; `count` is the sum. Zeros without
/// groups.
[[nodiscard]] ErrorFigures mean_of(std::span<const ErrorFigures> groups);

/// Kendall's tau-b between two rankings (Kendall 1945): 1 if they agree on every pair, -1 if on
/// none; handles ties. 0 if one ranking is constant. Requires equal lengths.
[[nodiscard]] double kendall_tau(std::span<const double> a, std::span<const double> b);

/// Measured time of the layout that is best by `simulated` over the fastest measured time, minus
/// one; the first on ties. Requires equal lengths of at least one.
[[nodiscard]] double regret(std::span<const double> measured, std::span<const double> simulated);

/// Quality of layout rankings over sets of rows that differ only in layout.
struct RankingFigures {
  std::size_t sets = 0;  // with three or more rows
  std::size_t rows = 0;  // in them
  double tau = 0;        // mean over sets
  double regret = 0;     // mean over sets
  double worst_regret = 0;
};

[[nodiscard]] RankingFigures ranking_figures(std::span<const Comparison> rows);

/// Error of a baseline: one utilization of the peak for all rows, fitted as the median. Rows
/// without `at_peak` are ignored.
struct FlatUtilisation {
  double utilisation = 0;  // of the dense peak
  ErrorFigures errors{};
};

[[nodiscard]] FlatUtilisation flat_utilisation(std::span<const Comparison> rows);

}  // namespace lockstep
