#include "strategies/collectives/send_recv/algorithms.hpp"

#include <doctest/doctest.h>

#include "tests/strategies/collectives/rows_under_test.hpp"

using namespace lockstep;

TEST_CASE("a shift brings everyone's data as far ahead as asked") {
  test::check_every_row(Collective::send_recv);
  test::check_random_arguments(Collective::send_recv, "shift", "distance", 40, 100);
}

TEST_CASE("a shift by all ranks is a copy") {
  ScheduleStep step;
  send_recv::make_shift(4, 4)->step(2, 0, 0, step);
  CHECK(step.sends.empty());
  CHECK(step.locals.size() == 1);
  CHECK_FALSE(send_recv::shift_cost(4, 4).has_value());
  CHECK(send_recv::shift_cost(4, 3)->sent_blocks == 1);
}
