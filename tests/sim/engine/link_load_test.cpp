#include "sim/engine/link_load.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "tests/sim/execute/schedule/table_schedule.hpp"

using namespace lockstep;

namespace {

/// End points 0, 1, 2 in a line. Link 0 goes 0 -> 1, link 1 goes 1 -> 2; nothing goes back. From 0
/// to 2 half goes over each of links 2 and 3.
class LineRouter final : public Router {
 public:
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from > to) return false;
    if (from == 0 && to == 2) {
      route.hops = {{2, kWeightUnit / 2}, {3, kWeightUnit / 2}};
      route.paths = 2;
    } else if (from != to) {
      route.hops = {{from, kWeightUnit}};
    }
    return true;
  }
};

Network line() {
  const Link link{1_GBps, 1_us, true};
  return {{link, link, link, link}, {{}, {}, {}}, std::make_shared<LineRouter>()};
}

ScheduleStep send(int peer, std::int64_t count) {
  return {.sends = {{peer, {Buffer::data, 0, count}}}, .receives = {}, .after = {}};
}

}  // namespace

TEST_CASE("busiest-link load adds up the busiest link of every round") {
  // Round 0: 4 blocks on link 0, 3 on link 1: 4. Round 1: 2 of 4 blocks each on links 2 and 3: 2.
  // Over a message of 4 blocks: 6 / 4.
  const TableSchedule schedule{{{{send(1, 4), send(2, 4)}}, {{send(2, 3)}}, {{}}}, 4};
  CHECK(*busiest_link_load(schedule, line()) == 1.5);
}

TEST_CASE("members say which end point plays which rank") {
  const TableSchedule schedule{{{{send(1, 1)}}, {{}}}, 1};
  const std::vector<EndpointId> members{0, 2};
  CHECK(*busiest_link_load(schedule, line(), members) == 0.5);
}

TEST_CASE("lanes are at once where their steps have the same index") {
  // Round 0: 1 block of one lane and 2 of the other on link 0: 3. Round 1: 4 on link 0, 5 on link
  // 1: 5. Over a message of 2 blocks: 8 / 2.
  const TableSchedule schedule{
      {{{send(1, 1), send(1, 4)}, {send(1, 2)}}, {{}, {ScheduleStep{}, send(2, 5)}}, {{}}}, 2};
  CHECK(*busiest_link_load(schedule, line()) == 4);
}

TEST_CASE("all runs of a message count") {
  ScheduleStep several;
  several.send(1, std::vector<Chunk>{{Buffer::data, 0, 1}, {Buffer::data, 2, 3}});
  const TableSchedule schedule{{{{several}}, {{}}}, 8};
  CHECK(*busiest_link_load(schedule, line()) == 0.5);
}

TEST_CASE("no load where there is no route") {
  const TableSchedule backwards{{{{}}, {{send(0, 1)}}}, 1};
  CHECK_FALSE(busiest_link_load(backwards, line()).has_value());
}
