#include "sim/execute/schedule/execute.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/sim/execute/schedule/table_schedule.hpp"

using namespace lockstep;

namespace {

Chunk data(std::int64_t first, std::int64_t count = 1) {
  return {Buffer::data, first, count};
}
ScheduleStep send(int peer, Chunk chunk) {
  return {.sends = {{peer, chunk}}};
}
ScheduleStep receive(int peer, Chunk chunk, Combine combine = Combine::copy) {
  return {.receives = {{peer, chunk, combine}}};
}

/// Rank r, element i of its data: 10 * (r + 1) + i.
HostMemory memory_for(const Schedule& schedule, std::int64_t block_elements = 1) {
  HostMemory memory{block_elements, {}};
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    RankMemory mine;
    for (std::int64_t i = 0; i < schedule.blocks() * block_elements; ++i)
      mine.data.push_back(static_cast<float>(10 * (rank + 1) + i));
    memory.ranks.push_back(std::move(mine));
  }
  return memory;
}

bool mentions(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a receive copies or adds the chunk it names") {
  const TableSchedule schedule{{{{send(1, data(0)), send(1, data(0))}},
                                {{receive(0, data(1)), receive(0, data(0), Combine::reduce)}}},
                               2};
  HostMemory memory = memory_for(schedule, 2);
  const ExecuteOutcome outcome = execute(schedule, memory);
  REQUIRE(outcome.finished());
  CHECK(outcome.transfers == 2);
  // Rank 1 began with 20 21 | 22 23; 10 11 was copied over its second block, added to its first.
  CHECK(memory.ranks[1].data == std::vector<float>{30, 32, 10, 11});
  CHECK(memory.ranks[0].data == std::vector<float>{10, 11, 12, 13});
}

TEST_CASE("a step's sends carry what the buffer held when the step began") {
  const auto swap = [](int peer) {
    return ScheduleStep{
        .sends = {{peer, data(0)}}, .receives = {{peer, data(0), Combine::copy}}, .after = {}};
  };
  const TableSchedule schedule{{{{swap(1)}}, {{swap(0)}}}};
  HostMemory memory = memory_for(schedule);
  REQUIRE(execute(schedule, memory).finished());
  CHECK(memory.ranks[0].data == std::vector<float>{20});
  CHECK(memory.ranks[1].data == std::vector<float>{10});
}

TEST_CASE("transfers between two ranks match first to first, channel by channel") {
  // Lane 1 sends before lane 0 does, on a channel of its own, and still nothing crosses over.
  ScheduleStep late = send(1, data(0));
  late.after = {{1, 0}};
  ScheduleStep other_send = send(1, data(1));
  other_send.sends[0].channel = 1;
  ScheduleStep other_receive = receive(0, data(1));
  other_receive.receives[0].channel = 1;
  const TableSchedule schedule{{{{late}, {other_send}}, {{receive(0, data(0))}, {other_receive}}},
                               2};
  HostMemory memory = memory_for(schedule);
  REQUIRE(execute(schedule, memory).finished());
  CHECK(memory.ranks[1].data == std::vector<float>{10, 11});
}

TEST_CASE("a step waits for the steps it names") {
  // Rank 0 passes block 0 on in lane 0 only after lane 1 has received it.
  ScheduleStep pass_on = send(2, data(0));
  pass_on.after = {{1, 0}};
  const TableSchedule schedule{
      {{{pass_on}, {receive(1, data(0))}}, {{}, {send(0, data(0))}}, {{receive(0, data(0))}}}};
  HostMemory memory = memory_for(schedule);
  REQUIRE(execute(schedule, memory).finished());
  CHECK(memory.ranks[2].data == std::vector<float>{20});
}

TEST_CASE("a message may carry several runs of blocks, and lay them down in others") {
  ScheduleStep from;
  from.send(1, std::vector{data(3), data(0, 2)});
  ScheduleStep to;
  to.receive(0, std::vector{data(1, 2), data(0)}, Combine::reduce);
  const TableSchedule schedule{{{{from}}, {{to}}}, 4};
  HostMemory memory = memory_for(schedule);
  const ExecuteOutcome outcome = execute(schedule, memory);
  REQUIRE(outcome.finished());
  // 13 10 11 were sent; rank 1 began with 20 21 22 23.
  CHECK(memory.ranks[1].data == std::vector<float>{31, 34, 32, 23});
  CHECK(outcome.traffic.sent == std::vector<std::int64_t>{3, 0});
  CHECK(outcome.traffic.received == std::vector<std::int64_t>{0, 3});
}

TEST_CASE("local operations come in order when all transfers of their step are over") {
  ScheduleStep step = receive(0, data(0));
  step.locals = {{data(0), {Buffer::scratch, 0, 1}, Combine::copy},
                 {{Buffer::scratch, 0, 1}, data(1), Combine::reduce}};
  ScheduleStep alone;
  alone.locals = {{data(1), data(0), Combine::copy}};
  const TableSchedule schedule{{{{send(1, data(0))}}, {{step, alone}}}, 2, 0, 1};
  HostMemory memory = memory_for(schedule);
  REQUIRE(execute(schedule, memory).finished());
  // Rank 1 began with 20 21 and received 10: scratch 10, block 1 31, then block 0 as well.
  CHECK(memory.ranks[1].scratch == std::vector<float>{10});
  CHECK(memory.ranks[1].data == std::vector<float>{31, 31});
}

TEST_CASE("a race between lanes shows in some order of execution, a dependency in none") {
  // Rank 0: lane 0 passes on what lane 1 receives, and should wait for it.
  const auto result = [](bool waits, const ExecuteOptions& options) {
    ScheduleStep pass_on = send(2, data(0));
    if (waits) pass_on.after = {{1, 0}};
    const TableSchedule schedule{
        {{{pass_on}, {receive(1, data(0))}}, {{send(0, data(0))}}, {{receive(0, data(0))}}}};
    HostMemory memory = memory_for(schedule);
    CHECK(execute(schedule, memory, options).finished());
    return memory.ranks[2].data[0];
  };
  std::vector<ExecuteOptions> orders{{.order = ExecuteOrder::first_ready_first},
                                     {.order = ExecuteOrder::last_ready_first},
                                     {.order = ExecuteOrder::starved, .starved_lane = 0},
                                     {.order = ExecuteOrder::starved, .starved_lane = 1}};
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    orders.push_back({.order = ExecuteOrder::shuffled, .seed = seed});
  std::vector<float> seen;
  for (const ExecuteOptions& options : orders) {
    CHECK(result(true, options) == 20);
    seen.push_back(result(false, options));
  }
  // Whoever is starved comes second, without exception.
  CHECK(seen[2] == 20);
  CHECK(seen[3] == 10);
  CHECK(std::count(seen.begin() + 4, seen.end(), 10.0F) > 0);
  CHECK(std::count(seen.begin() + 4, seen.end(), 20.0F) > 0);
}

TEST_CASE("the deepest queue is what was sent and not yet taken") {
  const TableSchedule schedule{
      {{{send(1, data(0)), send(1, data(1)), send(1, data(0)), send(2, data(0))}},
       {{receive(2, data(0)), receive(0, data(0)), receive(0, data(0)), receive(0, data(0))}},
       {{receive(0, data(0)), send(1, data(0))}}},
      2,
      8};
  HostMemory memory = memory_for(schedule);
  const ExecuteOutcome outcome = execute(schedule, memory);
  REQUIRE(outcome.finished());
  // Rank 1 takes nothing of rank 0 before rank 0 has sent it everything.
  CHECK(outcome.traffic.deepest_queue == 3);
  CHECK(outcome.traffic.deepest_from == 0);
  CHECK(outcome.traffic.deepest_to == 1);
}

TEST_CASE("slots can be given in place of the schedule's") {
  const std::vector<TableSchedule::Rank> ranks{{{send(1, data(0)), receive(1, data(0))}},
                                               {{send(0, data(0)), receive(0, data(0))}}};
  const TableSchedule rendezvous{ranks};
  HostMemory memory = memory_for(rendezvous);
  const ExecuteOutcome stuck = execute(rendezvous, memory);
  CHECK(describe_waits(rendezvous, stuck.waits) ==
        "rank 0 step 0 waits to send to rank 1 <- rank 1 step 0 waits to send to rank 0 <- rank 0 "
        "step 0");
  memory = memory_for(rendezvous);
  CHECK(execute(rendezvous, memory, {.slots = 1}).finished());
}

TEST_CASE("memory that nobody wrote is NaN") {
  const TableSchedule schedule{
      {{{send(1, {Buffer::scratch, 0, 1})}}, {{receive(0, data(0), Combine::reduce)}}}, 1, 0, 1};
  HostMemory memory = memory_for(schedule);
  REQUIRE(execute(schedule, memory).finished());
  CHECK(std::isnan(memory.ranks[1].data[0]));
}

TEST_CASE("two that both send first are stuck without slots and pass with one") {
  const std::vector<TableSchedule::Rank> ranks{{{send(1, data(0)), receive(1, data(0))}},
                                               {{send(0, data(0)), receive(0, data(0))}}};
  const TableSchedule rendezvous{ranks};
  HostMemory memory = memory_for(rendezvous);
  const ExecuteOutcome stuck = execute(rendezvous, memory);
  CHECK(stuck.kind == ExecuteOutcome::Kind::stuck);
  CHECK(stuck.blocked_lanes == 2);
  CHECK(stuck.problem == "rank 0, lane 0, step 0 waits to send 1 chunk to rank 1");

  const TableSchedule buffered{ranks, 1, 1};
  memory = memory_for(buffered);
  REQUIRE(execute(buffered, memory).finished());
  CHECK(memory.ranks[0].data == std::vector<float>{20});
  CHECK(memory.ranks[1].data == std::vector<float>{10});
}

TEST_CASE("slots are as many as the schedule says") {
  // Both send twice, then receive twice: two slots are needed, one deadlocks.
  const auto rank = [](int peer) {
    return TableSchedule::Rank{
        {send(peer, data(0)), send(peer, data(1)), receive(peer, data(0)), receive(peer, data(1))}};
  };
  const TableSchedule one{{rank(1), rank(0)}, 2, 1};
  HostMemory memory = memory_for(one);
  CHECK(execute(one, memory).kind == ExecuteOutcome::Kind::stuck);
  const TableSchedule two{{rank(1), rank(0)}, 2, 2};
  memory = memory_for(two);
  CHECK(execute(two, memory).finished());
}

TEST_CASE("a deadlock names every wait") {
  SUBCASE("nobody sends") {
    const TableSchedule schedule{{{{}}, {{send(0, data(0)), receive(0, data(0))}}}};
    HostMemory memory = memory_for(schedule);
    const ExecuteOutcome outcome = execute(schedule, memory);
    REQUIRE(outcome.blocked.size() == 1);
    CHECK(outcome.blocked[0].rank == 1);
    CHECK(outcome.blocked[0].step == 0);
    CHECK(outcome.blocked[0].waits_for == "to send 1 chunk to rank 0");
  }
  SUBCASE("two lanes wait for each other") {
    ScheduleStep a;
    a.after = {{1, 0}};
    ScheduleStep b;
    b.after = {{0, 0}};
    const TableSchedule schedule{{{{a}, {b}}}};
    HostMemory memory = memory_for(schedule);
    const ExecuteOutcome outcome = execute(schedule, memory);
    CHECK(outcome.kind == ExecuteOutcome::Kind::stuck);
    CHECK(outcome.blocked[0].waits_for == "for lane 1 to finish step 0");
  }
  SUBCASE("a message that nobody takes") {
    const TableSchedule schedule{{{{send(1, data(0))}}, {{}}}, 1, 1};
    HostMemory memory = memory_for(schedule);
    const ExecuteOutcome outcome = execute(schedule, memory);
    CHECK(outcome.kind == ExecuteOutcome::Kind::malformed);
    CHECK(outcome.problem == "rank 0, lane 0, step 0 sends to rank 1 without a matching receive");
  }
}

TEST_CASE("a step that asks for what cannot be is refused") {
  const auto problem_of = [](std::vector<TableSchedule::Rank> ranks) {
    const TableSchedule schedule{std::move(ranks), 2};
    HostMemory memory = memory_for(schedule);
    const ExecuteOutcome outcome = execute(schedule, memory);
    CHECK(outcome.kind == ExecuteOutcome::Kind::malformed);
    return outcome.problem;
  };
  // Also with blocks of no elements: the counts are compared, not the bytes.
  CHECK(problem_of({{{send(1, data(0, 2))}}, {{receive(0, data(0))}}}) ==
        "rank 1, lane 0, step 0 expects 1 chunk from rank 0, which sends 2 chunks");
  CHECK(mentions(problem_of({{{send(7, data(0))}}}), "names rank 7, but there are 1 ranks"));
  CHECK(mentions(problem_of({{{send(0, data(1, 2))}}}), "2 chunks from chunk 1 on"));
  CHECK(mentions(problem_of({{{send(0, data(-1))}}}), "1 chunks from chunk -1 on"));
  ScheduleStep after_nothing;
  after_nothing.after = {{0, 9}};
  CHECK(mentions(problem_of({{{after_nothing}}}), "waits for step 9 of lane 0"));
  ScheduleStep channel = send(0, data(0));
  channel.sends[0].channel = -1;
  CHECK(mentions(problem_of({{{channel}}}), "names channel -1"));
  ScheduleStep pieces;
  pieces.send(0, std::vector{data(0), data(2)});
  CHECK(mentions(problem_of({{{pieces}}}), "1 chunks from chunk 2 on"));
  pieces.pieces.clear();
  CHECK(mentions(problem_of({{{pieces}}}), "has a message of 1 pieces more than it lists"));
  ScheduleStep local;
  local.locals = {{data(0), data(0, 2), Combine::copy}};
  CHECK(mentions(problem_of({{{local}}}), "moves 1 chunks into 2"));
  local.locals = {{data(0), {Buffer::scratch, 0, 1}, Combine::copy}};
  CHECK(mentions(problem_of({{{local}}}), "1 chunks from chunk 0 on, of a buffer of 0"));
}
