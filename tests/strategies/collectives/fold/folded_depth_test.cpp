#include "sim/symmetry/folded_depth.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "sim/schedule/message_depth.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// What is counted by classes is what is counted rank by rank.
using namespace lockstep;

TEST_CASE("messages that follow one another are as many, folded or walked") {
  for (const RowCase& each : every_row({1, 2, 3, 5, 8, 16})) {
    CAPTURE(each.name());
    const SchedulePtr schedule = each.make();
    const auto walked = message_depth(*schedule);
    REQUIRE(walked.has_value());
    CHECK(folded_message_depth(schedule) == walked);
  }
}

TEST_CASE("classes of one rank each measure what a walk measures, larger ones as many messages") {
  for (const RowCase& each : every_row({2, 5, 8})) {
    CAPTURE(each.name());
    const SchedulePtr schedule = each.make();
    const int senders = each.n();
    std::vector<RankMultiple> classes;
    for (int rank = 0; rank < schedule->ranks(); ++rank) classes.push_back({rank, 1});
    const auto walked = measure(*schedule, 1'000'000, senders);
    const auto by_class = measure(*schedule, classes, 1'000'000, senders);
    REQUIRE(walked.has_value());
    REQUIRE(by_class.has_value());
    CHECK(by_class->rounds == walked->rounds);
    CHECK(by_class->sent_blocks == walked->sent_blocks);
    CHECK(by_class->messages == walked->messages);
  }
  // A ring's ranks are one class: 2(n-1) messages of each.
  const SchedulePtr ring = make_schedule(*find_algorithm(Collective::all_reduce, "ring"), {.n = 8});
  const RankMultiple all{3, 8};
  CHECK(measure(*ring, std::span{&all, 1}, 1'000'000, 8)->messages == 8 * 14);
  CHECK_FALSE(measure(*ring, std::span{&all, 1}, 3, 8).has_value());
}
