#include "strategies/collectives/reduce_scatter/algorithms.hpp"

#include <doctest/doctest.h>

#include "strategies/collectives/schedules/ceil_lg.hpp"
#include "tests/strategies/collectives/rows_under_test.hpp"

using namespace lockstep;
using test::row_of;

TEST_CASE("every reduce-scatter leaves each rank its part of the sum") {
  test::check_every_row(Collective::reduce_scatter);
}

TEST_CASE("what a reduce-scatter costs is the textbook's") {
  for (const int n : {2, 4, 8, 16, 32}) {
    CAPTURE(n);
    const int lg = ceil_lg(n);
    const std::vector<std::pair<std::string_view, int>> rounds{
        {"ring", n - 1}, {"recursive_halving", lg}, {"bruck", lg}, {"direct", 1}, {"pat", lg}};
    for (const auto& [name, expected] : rounds) {
      CAPTURE(name);
      const CollectiveCost cost = *cost_of(row_of(Collective::reduce_scatter, name), {.n = n});
      CHECK(cost.rounds == expected);
      CHECK(cost.path_blocks == n - 1);
      CHECK(cost.reduced_blocks == n - 1);
      CHECK(cost.sent_blocks == n - 1);
    }
  }
  // n = 5, one extra rank: 5 blocks to its partner; 3, then 2 within the core; 1 back.
  CHECK(reduce_scatter::recursive_halving_cost(5).path_blocks == 11);
  CHECK(reduce_scatter::recursive_halving_cost(5).reduced_blocks == 10);
}

TEST_CASE("PAT and Bruck reduce-scatters are their all-gathers backwards") {
  for (const char* name : {"pat", "bruck"}) {
    for (const int n : {2, 3, 6, 8, 13}) {
      const SchedulePtr gather = make_schedule(row_of(Collective::all_gather, name), {.n = n});
      const SchedulePtr scatter = make_schedule(row_of(Collective::reduce_scatter, name), {.n = n});
      CAPTURE(name);
      CAPTURE(n);
      for (int rank = 0; rank < n; ++rank) {
        const std::int64_t steps = gather->steps(rank, 0);
        REQUIRE(scatter->steps(rank, 0) == steps);
        for (std::int64_t index = 0; index < steps; ++index) {
          ScheduleStep forth;
          ScheduleStep back;
          gather->step(rank, 0, index, forth);
          scatter->step(rank, 0, steps - 1 - index, back);
          CHECK(forth.sends.at(0).peer == back.receives.at(0).peer);
          CHECK(forth.receives.at(0).peer == back.sends.at(0).peer);
          CHECK(forth.blocks_of(forth.sends[0]) == back.blocks_of(back.receives[0]));
        }
      }
    }
  }
}
