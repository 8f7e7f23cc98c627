#include <doctest/doctest.h>

#include "tests/strategies/collectives/rows_under_test.hpp"

using namespace lockstep;
using test::row_of;

TEST_CASE("every scatter gives each rank its part, from any root") {
  test::check_every_row(Collective::scatter);
}

TEST_CASE("a binomial scatter sends the further half first, in two pieces where ranks wrap") {
  // 8 ranks, root 5: positions 4 .. 7 are ranks 1 .. 4; then 2, 3 are 7, 0; then 1 is 6.
  const SchedulePtr schedule =
      make_schedule(row_of(Collective::scatter, "binomial"), {.n = 8, .root = 5});
  ScheduleStep step;
  schedule->step(5, 0, 0, step);
  REQUIRE(step.sends.size() == 1);
  CHECK(step.sends[0].peer == 1);
  CHECK(step.sends[0].chunk.first == 1);
  CHECK(step.sends[0].chunk.count == 4);
  CHECK(step.more(step.sends[0].more).empty());
  step.clear();
  schedule->step(5, 0, 1, step);
  CHECK(step.sends[0].peer == 7);
  CHECK(step.sends[0].chunk.first == 7);
  CHECK(step.sends[0].chunk.count == 1);
  REQUIRE(step.more(step.sends[0].more).size() == 1);
  CHECK(step.more(step.sends[0].more)[0].first == 0);
  CHECK(step.more(step.sends[0].more)[0].count == 1);
  step.clear();
  schedule->step(7, 0, 1, step);  // the other end names the same blocks in the same order
  CHECK(step.receives[0].peer == 5);
  CHECK(step.receives[0].chunk.first == 7);
  CHECK(step.more(step.receives[0].more)[0].first == 0);
}

TEST_CASE("a scatter's root sends round the cycle from itself") {
  ScheduleStep step;
  make_schedule(row_of(Collective::scatter, "direct"), {.n = 5, .root = 3})->step(3, 0, 0, step);
  std::vector<int> peers;
  for (const Send& send : step.sends) peers.push_back(send.peer);
  CHECK(peers == std::vector<int>{4, 0, 1, 2});
}
