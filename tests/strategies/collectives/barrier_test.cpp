#include "strategies/collectives/barrier/algorithms.hpp"

#include <doctest/doctest.h>

#include "tests/strategies/collectives/rows_under_test.hpp"

using namespace lockstep;

TEST_CASE("nobody leaves a barrier before everybody has come") {
  test::check_every_row(Collective::barrier);
}

TEST_CASE("what a barrier costs is the textbook's") {
  CHECK(barrier::flat_cost(33).rounds == 64);
  CHECK(barrier::binomial_cost(33).rounds == 12);
  CHECK(barrier::dissemination_cost(33).rounds == 6);
  CHECK(barrier::dissemination_cost(32).rounds == 5);
  CHECK(barrier::dissemination_cost(1).rounds == 0);
}

TEST_CASE("a barrier sends no bytes") {
  ScheduleStep step;
  barrier::make_dissemination(8)->step(7, 0, 1, step);
  REQUIRE(step.sends.size() == 1);
  CHECK(step.sends[0].peer == 1);
  CHECK(step.blocks_of(step.sends[0]) == 0);
}
