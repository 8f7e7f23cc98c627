#include "sim/cost/slowest_of_n.hpp"

#include <doctest/doctest.h>

using namespace lockstep;

TEST_CASE("one device is its own mean") {
  CHECK(slowest_of(1, 0.1) == 1);
  CHECK(slowest_of(8, 0) == 1);
}

// Expected maxima of n standard normal numbers: Harter 1961, Biometrika 48, table 1: 0.56419 of 2,
// 1.42360 of 8, 2.50759 of 100. Blom's formula is within two hundredths of them.
TEST_CASE("the slowest of several devices is as far out as order statistics say") {
  CHECK(slowest_of(2, 1) == doctest::Approx(1 + 0.56419).epsilon(0.02));
  CHECK(slowest_of(8, 1) == doctest::Approx(1 + 1.42360).epsilon(0.02));
  CHECK(slowest_of(100, 1) == doctest::Approx(1 + 2.50759).epsilon(0.02));
  CHECK(slowest_of(100, 0.01) == doctest::Approx(1 + 0.0250759).epsilon(0.001));
}
