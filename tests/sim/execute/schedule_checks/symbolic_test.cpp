#include "sim/execute/schedule_checks/symbolic.hpp"

#include <doctest/doctest.h>

#include "tests/sim/execute/schedule/table_schedule.hpp"

using namespace lockstep;

namespace {

Chunk data(std::int64_t first, std::int64_t count = 1) {
  return {Buffer::data, first, count};
}
Chunk output(std::int64_t first, std::int64_t count = 1) {
  return {Buffer::output, first, count};
}
ScheduleStep send(int peer, Chunk chunk) {
  return {.sends = {{peer, chunk}}};
}
ScheduleStep receive(int peer, Chunk chunk, Combine combine = Combine::copy) {
  return {.receives = {{peer, chunk, combine}}};
}

SymbolicVerdict check(const Schedule& schedule, Collective collective, int ranks, int root = 0) {
  return check_symbols(schedule, contract_of(collective, schedule, ranks, root));
}

}  // namespace

TEST_CASE("a reduction of three to a root, and then to the wrong root") {
  // 2 gives to 1, 1 gives the sum to 0.
  const TableSchedule schedule{{{{receive(1, data(0), Combine::reduce)}},
                                {{receive(2, data(0), Combine::reduce), send(0, data(0))}},
                                {{send(1, data(0))}}}};
  const SymbolicVerdict right = check(schedule, Collective::reduce, 3);
  CHECK_MESSAGE(right.right(), right.problem());
  CHECK(right.orders == 3);
  const SymbolicVerdict wrong = check(schedule, Collective::reduce, 3, 1);
  CHECK(wrong.wrong_blocks == 1);
  CHECK(wrong.problem() ==
        "rank 1, chunk 0 of data: lacks rank 0's chunk 0; last written by lane 0, step 0; "
        "rank 0's chunk 0 was never passed on");
}

TEST_CASE("a contribution that is counted twice is reported at once") {
  // Rank 1 gives its block twice.
  const TableSchedule schedule{{{{receive(1, data(0)), receive(1, data(1), Combine::reduce),
                                  receive(1, data(1), Combine::reduce)}},
                                {{send(0, data(0)), send(0, data(1)), send(0, data(1))}}},
                               2};
  const SymbolicVerdict verdict = check(schedule, Collective::all_reduce, 2);
  CHECK(verdict.outcome.kind == ExecuteOutcome::Kind::wrong);
  CHECK(verdict.problem() ==
        "rank 0, lane 0, step 2 counts rank 1's chunk 1 twice in chunk 1 of data");
  REQUIRE(verdict.first_wrong.has_value());
  CHECK(verdict.first_wrong->rank == 0);
  CHECK(verdict.first_wrong->chunk.first == 1);
  CHECK(verdict.first_wrong->written == ScheduleStepIndex{0, 0, 2});
}

TEST_CASE("what nobody wrote may be moved about, but not be added or left in a result") {
  const Chunk scratch{Buffer::scratch, 0, 1};
  SUBCASE("moved") {
    const TableSchedule schedule{
        {{{send(1, scratch), send(1, data(0))}}, {{receive(0, data(0)), receive(0, data(0))}}},
        1,
        0,
        1};
    CHECK(check(schedule, Collective::broadcast, 2).right());
  }
  SUBCASE("left in the result") {
    const TableSchedule schedule{{{{send(1, scratch)}}, {{receive(0, data(0))}}}, 1, 0, 1};
    CHECK(check(schedule, Collective::broadcast, 2).problem() ==
          "rank 1, chunk 0 of data: holds an uninitialized chunk; last written by lane 0, step 0; "
          "rank 0's chunk 0 was never passed on");
  }
  SUBCASE("added") {
    const TableSchedule schedule{
        {{{send(1, scratch)}}, {{receive(0, data(0), Combine::reduce)}}}, 1, 0, 1};
    CHECK(check(schedule, Collective::all_reduce, 2).problem() ==
          "rank 1, lane 0, step 0 adds an uninitialized chunk to chunk 0 of data");
  }
  SUBCASE("added to") {
    const TableSchedule schedule{
        {{{send(1, data(0))}}, {{receive(0, scratch, Combine::reduce)}}}, 1, 0, 1};
    CHECK(check(schedule, Collective::all_reduce, 2).problem() ==
          "rank 1, lane 0, step 0 adds to chunk 0 of scratch, which is uninitialized");
  }
  SUBCASE("an output that nobody touched") {
    const TableSchedule schedule{
        {{{send(1, data(0))}}, {{receive(0, output(0))}}}, 1, 0, 0, Buffer::output};
    CHECK(check(schedule, Collective::broadcast, 2).problem() ==
          "rank 0, chunk 0 of output: holds an uninitialized chunk; never written");
  }
}

TEST_CASE(
    "a message that is laid down in the wrong place names what is missing and what is there") {
  // All-to-all of three ranks with two blocks a pair; rank 0 lays rank 1's blocks down in reverse.
  const auto rank = [](int r) {
    ScheduleStep step;
    step.locals = {{data(2 * r, 2), output(2 * r, 2), Combine::copy}};
    for (const int other : {(r + 1) % 3, (r + 2) % 3}) {
      step.sends.push_back({other, data(2 * other, 2)});
      if (r == 0 && other == 1) {
        step.receive(1, std::vector{output(3), output(2)}, Combine::copy);
      } else {
        step.receives.push_back({other, output(2 * other, 2)});
      }
    }
    return TableSchedule::Rank{{step}};
  };
  const TableSchedule schedule{{rank(0), rank(1), rank(2)}, 6, 0, 0, Buffer::output};
  const SymbolicVerdict verdict = check(schedule, Collective::all_to_all, 3);
  // Rank 0's part of rank 1's data is blocks 0 and 1.
  CHECK(verdict.wrong_blocks == 2);
  CHECK(verdict.problem() ==
        "rank 0, chunks 2 to 3 of output: lacks rank 1's chunk 0, holds rank 1's chunk 1 instead; "
        "last written by lane 0, step 0");
}

TEST_CASE("auxiliary ranks begin with zeros") {
  // Both give to rank 2, a server, and get the sum back.
  const auto worker = [] { return TableSchedule::Rank{{send(2, data(0)), receive(2, data(0))}}; };
  ScheduleStep add;
  ScheduleStep give;
  for (const int peer : {0, 1}) {
    add.receives.push_back({peer, data(0), Combine::reduce});
    give.sends.push_back({peer, data(0)});
  }
  const TableSchedule schedule{{worker(), worker(), {{add, give}}}};
  CHECK(check(schedule, Collective::all_reduce, 2).right());
}

TEST_CASE("a race between lanes is found, whichever lane usually wins") {
  // Rank 0: what lane `first` receives lane `second` passes on, without waiting for it.
  for (const std::size_t first : {0, 1}) {
    for (const bool waits : {false, true}) {
      CAPTURE(first);
      CAPTURE(waits);
      TableSchedule::Rank middle(2);
      ScheduleStep pass_on = send(2, data(0));
      if (waits) pass_on.after = {{static_cast<int>(first), 0}};
      middle[first] = {receive(1, data(0))};
      middle[1 - first] = {pass_on};
      const TableSchedule schedule{{middle, {{send(0, data(0))}}, {{receive(0, data(0))}}}};
      const SymbolicVerdict verdict = check(schedule, Collective::broadcast, 3, 1);
      CHECK(verdict.right() == waits);
      // Three orders, and each of the four lanes that have steps kept back.
      if (waits) CHECK(verdict.orders == 7);
    }
  }
}

TEST_CASE("the order of arrivals within a step may not matter") {
  // Rank 0 copies rank 1's and adds rank 2's, in one step.
  const ScheduleStep both{.receives = {{1, data(0), Combine::copy}, {2, data(0), Combine::reduce}}};
  const TableSchedule schedule{{{{both}}, {{send(0, data(0))}}, {{send(0, data(0))}}}};
  Contract contract = contract_of(Collective::reduce, schedule, 3, 0);
  CHECK_FALSE(check_symbols(schedule, contract).right());
}

TEST_CASE("a barrier is one after which every rank knows that every other has arrived") {
  // Dissemination over n ranks: in round k everyone tells the rank 2^k ahead; no blocks at all.
  const auto dissemination = [](int n, int rounds) {
    std::vector<TableSchedule::Rank> ranks;
    for (int rank = 0; rank < n; ++rank) {
      TableSchedule::Lane lane;
      for (int k = 0; k < rounds; ++k) {
        const int distance = 1 << k;
        lane.push_back({.sends = {{(rank + distance) % n, data(0, 0)}},
                        .receives = {{(rank + n - distance % n) % n, data(0, 0)}}});
      }
      ranks.push_back({lane});
    }
    return TableSchedule{ranks, 0};
  };
  CHECK(check(dissemination(5, 3), Collective::barrier, 5).right());
  // After two rounds a rank has heard of the three before it.
  const SymbolicVerdict early = check(dissemination(5, 2), Collective::barrier, 5);
  CHECK(early.wrong_blocks == 5);
  CHECK(early.problem() == "rank 0 may end before rank 1 has begun");
  CHECK(check(dissemination(100, 7), Collective::barrier, 100).right());
}
