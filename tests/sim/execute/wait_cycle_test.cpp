#include "sim/schedule/wait_cycle.hpp"

#include <doctest/doctest.h>

#include "tests/sim/execute/schedule/table_schedule.hpp"

using namespace lockstep;

namespace {

const Chunk kBlock{Buffer::data, 0, 1};

ScheduleStep send(int peer, int channel = 0) {
  return {.sends = {{peer, kBlock, channel}}};
}
ScheduleStep receive(int peer, int channel = 0) {
  return {.receives = {{peer, kBlock, Combine::copy, channel}}};
}

/// A step that has begun and waits for its first send or its first receive.
LanePosition sending(std::int64_t step) {
  return {step, true, {0}, {}};
}
LanePosition receiving(std::int64_t step) {
  return {step, true, {}, {0}};
}
LanePosition finished(std::int64_t steps) {
  return {steps, false, {}, {}};
}

std::string text_of(const Schedule& schedule, const std::vector<LanePosition>& positions) {
  return describe_waits(schedule, wait_cycle(schedule, positions));
}

}  // namespace

TEST_CASE("nobody waits where all is done") {
  const TableSchedule schedule{{{{send(1)}}, {{receive(0)}}}};
  CHECK(wait_cycle(schedule, std::vector{finished(1), finished(1)}).empty());
}

TEST_CASE("three that all send first form a ring of waits") {
  // Each would receive in its next step, which it does not reach.
  const TableSchedule schedule{
      {{{send(1), receive(2)}}, {{send(2), receive(0)}}, {{send(0), receive(1)}}}};
  CHECK(text_of(schedule, {sending(0), sending(0), sending(0)}) ==
        "rank 0 step 0 waits to send to rank 1 <- rank 1 step 0 waits to send to rank 2 <- "
        "rank 2 step 0 waits to send to rank 0 <- rank 0 step 0");
}

TEST_CASE("what nobody will ever answer is named before any ring") {
  // Ranks 0 and 1 both send first; rank 3 waits for a message on channel 5 that rank 2, which is
  // done, does not send.
  const TableSchedule schedule{{{{send(1), receive(1)}},
                                {{send(0), receive(0)}},
                                {{send(3)}},
                                {{receive(2), receive(2, 5)}}}};
  const std::vector<LanePosition> positions{sending(0), sending(0), finished(1), receiving(1)};
  const std::vector<LaneWait> waits = wait_cycle(schedule, positions);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].for_nobody);
  CHECK(waits[0].rank == 3);
  CHECK(describe_waits(schedule, waits) ==
        "rank 3 step 1 waits to receive from rank 2 on channel 5 <- rank 2 never sends to rank 3 "
        "on channel 5 after that");
}

TEST_CASE("waits for named steps and for peers make one ring") {
  // Rank 0: lane 1 may send after lane 0 has received; rank 1 sends after it has received.
  ScheduleStep after = send(1);
  after.after = {{0, 0}};
  const TableSchedule schedule{{{{receive(1)}, {after}}, {{receive(0), send(0)}, {}}}};
  const std::vector<LanePosition> positions{
      receiving(0), {0, false, {}, {}}, receiving(0), finished(0)};
  CHECK(text_of(schedule, positions) ==
        "rank 0 lane 0 step 0 waits to receive from rank 1 <- rank 1 lane 0 step 0 waits to "
        "receive from rank 0 <- rank 0 lane 1 step 0 waits for step 0 of lane 0 <- rank 0 lane 0 "
        "step 0");
}

TEST_CASE("of several rings a short one is reported") {
  // Rank 0 waits for 1, 1 for 2, 2 for 0 and, with a second message, for 1.
  ScheduleStep both = receive(0);
  both.receives.push_back({1, kBlock, Combine::copy});
  const TableSchedule schedule{
      {{{receive(1), send(2)}}, {{receive(2), send(0), send(2)}}, {{both, send(1)}}}};
  const std::vector<LanePosition> positions{receiving(0), receiving(0), {0, true, {}, {0, 1}}};
  CHECK(wait_cycle(schedule, positions).size() == 2);
  CHECK(text_of(schedule, positions) ==
        "rank 1 step 0 waits to receive from rank 2 <- rank 2 step 0 waits to receive from rank 1 "
        "<- rank 1 step 0");
}

TEST_CASE("a long ring is cut in the middle") {
  constexpr int kRanks = 20;
  std::vector<TableSchedule::Rank> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.push_back({{send((rank + 1) % kRanks), receive((rank + kRanks - 1) % kRanks)}});
  const TableSchedule schedule{ranks};
  const std::vector<LanePosition> positions(kRanks, sending(0));
  CHECK(wait_cycle(schedule, positions).size() == kRanks);
  const std::string text = text_of(schedule, positions);
  // Six from the front, the last one, thirteen between.
  CHECK(text.find("rank 5 step 0 waits to send to rank 6 <- ... 13 more ... <- rank 19 step 0") !=
        std::string::npos);
}
