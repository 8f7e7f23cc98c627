#include <doctest/doctest.h>

#include "tests/strategies/collectives/rows_under_test.hpp"

using namespace lockstep;

TEST_CASE("every gather brings all parts to any root") {
  test::check_every_row(Collective::gather);
}

TEST_CASE("a binomial gather is its scatter backwards") {
  const auto schedule = [](Collective collective, int n, int root) {
    return make_schedule(test::row_of(collective, "binomial"), {.n = n, .root = root});
  };
  for (const int n : {2, 3, 8, 13}) {
    const SchedulePtr scatter = schedule(Collective::scatter, n, 2 % n);
    const SchedulePtr gather = schedule(Collective::gather, n, 2 % n);
    for (int rank = 0; rank < n; ++rank) {
      const std::int64_t steps = scatter->steps(rank, 0);
      REQUIRE(gather->steps(rank, 0) == steps);
      for (std::int64_t index = 0; index < steps; ++index) {
        ScheduleStep down;
        ScheduleStep up;
        scatter->step(rank, 0, index, down);
        gather->step(rank, 0, steps - 1 - index, up);
        REQUIRE(down.sends.size() == up.receives.size());
        REQUIRE(down.receives.size() == up.sends.size());
        for (std::size_t i = 0; i < down.sends.size(); ++i) {
          CHECK(down.sends[i].peer == up.receives[i].peer);
          CHECK(down.blocks_of(down.sends[i]) == up.blocks_of(up.receives[i]));
        }
      }
    }
  }
}
