#include "strategies/measure/fit/least_squares.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "strategies/measure/fit/descent.hpp"

namespace lockstep {

TEST_CASE("figures that rows were made from are found again, an outlier or not") {
  // 5 + 0.5 x + 0.01 y, with x and y that do not go together.
  std::vector<FitRow> rows;
  for (const double x : {2.0, 6.0, 14.0})
    for (const double y : {1.0, 100.0, 10'000.0})
      rows.push_back({{1, x, y}, 0, 5 + 0.5 * x + 0.01 * y});
  rows.push_back({{1, 6, 100}, 0, 90});  // ten times as long as it should be
  const std::vector<double> figures = fit_non_negative(rows);
  CHECK(figures[0] == doctest::Approx(5).epsilon(0.02));
  CHECK(figures[1] == doctest::Approx(0.5).epsilon(0.02));
  CHECK(figures[2] == doctest::Approx(0.01).epsilon(0.02));
}

TEST_CASE("figures are not negative, and what is fixed is taken off first") {
  // 10 - 0.5 x: a straight line down, which only a constant may meet.
  const std::vector<FitRow> down{{{1, 2}, 0, 9}, {{1, 4}, 0, 8}, {{1, 8}, 0, 6}};
  const std::vector<double> figures = fit_non_negative(down);
  CHECK(figures[1] == 0);
  CHECK(figures[0] >= 6);
  CHECK(figures[0] <= 9);
  const std::vector<FitRow> fixed{{{1}, 7, 10}, {{1}, 8, 11}};
  CHECK(fit_non_negative(fixed)[0] == doctest::Approx(3));
  CHECK(relative_error(fixed[0], std::vector<double>{1}) == doctest::Approx(-0.2));
}

TEST_CASE("a golden section finds the dip") {
  const auto dip = [](double x) { return (x - 3) * (x - 3); };
  // After n sections the range is 10 * 0.618^n long: 0.08 for n = 10.
  CHECK(std::abs(least_in(0, 10, 10, dip) - 3) < 0.09);
}

TEST_CASE("a descent changes what helps, within bounds") {
  double x = 1;
  double y = 1;
  descend({{&x, 0, 100}, {&y, 0.5, 1}}, [&] { return std::abs(x - 7) + std::abs(y - 4); });
  CHECK(x == doctest::Approx(7).epsilon(0.02));
  CHECK(y == 1);  // the nearest to 4 that its bounds allow
}

}  // namespace lockstep
