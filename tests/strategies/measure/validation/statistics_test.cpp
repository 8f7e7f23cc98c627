#include "strategies/measure/validation/statistics.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "strategies/measure/validation/summary.hpp"

namespace lockstep {
namespace {

bool near(double a, double b) {
  return std::abs(a - b) < 1e-12;
}

Comparison row(double measured, double simulated, const std::string& group = "g") {
  Comparison out;
  out.group = group;
  out.measured = measured;
  out.simulated = simulated;
  return out;
}

}  // namespace

TEST_CASE("quantiles lie linearly between neighbours") {
  // Four values: places 0, 1, 2, 3; the 90th percentile is at 0.9 * 3 = 2.7.
  CHECK(near(quantile({4, 1, 3, 2}, 0.5), 2.5));
  CHECK(near(quantile({4, 1, 3, 2}, 0.9), 3.7));
  CHECK(quantile({4, 1, 3, 2}, 1) == 4);
  CHECK(quantile({7}, 0.9) == 7);
}

TEST_CASE("figures are of absolute errors, the bias of signed ones") {
  const std::array errors{-0.4, 0.1, -0.2, 0.3};
  const ErrorFigures figures = error_figures(errors);
  CHECK(figures.count == 4);
  CHECK(near(figures.median, 0.25));  // of 0.1 0.2 0.3 0.4
  CHECK(near(figures.mean, 0.25));
  CHECK(near(figures.p90, 0.37));
  CHECK(near(figures.worst, 0.4));
  CHECK(near(figures.bias, -0.05));  // (-0.4 + 0.1 - 0.2 + 0.3) / 4
  CHECK(error_figures({}).count == 0);
}

TEST_CASE("each group counts once, however many rows it has") {
  std::vector<Comparison> rows{row(1, 1.5, "few")};
  for (int i = 0; i < 9; ++i) rows.push_back(row(1, 1.1, "many"));
  const ValidationSummary summary = summarise_comparisons(rows);
  REQUIRE(summary.groups.size() == 2);
  REQUIRE(summary.overall.size() == 1);
  CHECK(summary.overall[0].all.count == 10);
  CHECK(near(summary.overall[0].all.median, (0.5 + 0.1) / 2));  // not the 0.1 of nine rows in ten
}

TEST_CASE("rows with assumed fields are distinguished") {
  std::vector<Comparison> rows{row(1, 1.2), row(1, 0.6)};
  rows[1].assumed = true;
  const GroupFigures group = summarise_comparisons(rows).groups.at(0);
  CHECK(near(group.all.mean, 0.3));
  CHECK(near(group.printed.mean, 0.2));
  CHECK(near(group.assumed.mean, 0.4));
}

TEST_CASE("Kendall's tau counts pairs, with ties allowed for") {
  const std::array<double, 4> a{1, 2, 3, 4};
  CHECK(kendall_tau(a, a) == 1);
  CHECK(kendall_tau(a, std::array<double, 4>{4, 3, 2, 1}) == -1);
  // One pair of six swapped: (5 - 1) / 6.
  CHECK(near(kendall_tau(a, std::array<double, 4>{2, 1, 3, 4}), 4.0 / 6));
  // A tie in b: 5 agree, none disagrees; 6 and 5 are told apart: 5 / sqrt(30).
  CHECK(near(kendall_tau(a, std::array<double, 4>{1, 1, 3, 4}), 5 / std::sqrt(30.0)));
  CHECK(kendall_tau(a, std::array<double, 4>{1, 1, 1, 1}) == 0);
}

TEST_CASE("regret is what the pick takes over the truly fastest") {
  const std::array<double, 3> measured{10, 8, 12};
  CHECK(regret(measured, std::array<double, 3>{5, 4, 6}) == 0);
  CHECK(near(regret(measured, std::array<double, 3>{3, 4, 6}), 0.25));  // 10 over 8
}

TEST_CASE("sets of fewer than three rows rank nothing") {
  std::vector<Comparison> rows{row(1, 1), row(2, 2), row(3, 3), row(5, 1), row(4, 2)};
  for (std::size_t i = 0; i < 3; ++i) rows[i].layout_set = "a";
  rows[3].layout_set = rows[4].layout_set = "b";
  const RankingFigures ranking = ranking_figures(rows);
  CHECK(ranking.sets == 1);
  CHECK(ranking.rows == 3);
  CHECK(ranking.tau == 1);
  CHECK(ranking.worst_regret == 0);
}

TEST_CASE("one flat utilisation is fitted to the middle of a group") {
  std::vector<Comparison> rows{row(10, 0), row(10, 0), row(10, 0)};
  rows[0].at_peak = 2;  // 20 % of the peak
  rows[1].at_peak = 4;  // 40 %
  rows[2].at_peak = 5;  // 50 %
  const FlatUtilisation flat = flat_utilisation(rows);
  CHECK(near(flat.utilisation, 0.4));
  // At 40 % they would take 5, 10 and 12.5: errors -50 %, 0 and +25 %.
  CHECK(near(flat.errors.median, 0.25));
  CHECK(near(flat.errors.worst, 0.5));
  CHECK(near(flat.errors.bias, -0.25 / 3));
}

}  // namespace lockstep
