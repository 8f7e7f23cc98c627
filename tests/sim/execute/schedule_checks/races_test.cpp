#include "sim/execute/schedule_checks/races.hpp"

#include <doctest/doctest.h>

#include "sim/execute/schedule_checks/verify.hpp"
#include "tests/sim/execute/schedule/table_schedule.hpp"

using namespace lockstep;

namespace {

Chunk data(std::int64_t first, std::int64_t count = 1) {
  return {Buffer::data, first, count};
}
ScheduleStep send(int peer, Chunk chunk, int channel = 0) {
  return {.sends = {{peer, chunk, channel}}};
}
ScheduleStep receive(int peer, Chunk chunk, Combine combine = Combine::copy, int channel = 0) {
  return {.receives = {{peer, chunk, combine, channel}}};
}
ScheduleStep after(ScheduleStep step, int lane, std::int64_t index) {
  step.after = {{lane, index}};
  return step;
}

std::string race_in(const Schedule& schedule, std::optional<int> slots = {}) {
  const RaceVerdict verdict = check_races(schedule, slots);
  CHECK(verdict.complete);
  return verdict.first ? verdict.first->what : "";
}

}  // namespace

TEST_CASE("what one lane receives and another passes on is a race until it is named") {
  const auto schedule = [](const ScheduleStep& pass_on) {
    return TableSchedule{
        {{{receive(1, data(0))}, {pass_on}}, {{send(0, data(0))}}, {{receive(0, data(0))}}}};
  };
  CHECK(race_in(schedule(after(send(2, data(0)), 0, 0))).empty());
  const RaceVerdict verdict = check_races(schedule(send(2, data(0))));
  CHECK(verdict.count == 1);
  REQUIRE(verdict.first.has_value());
  CHECK(verdict.first->chunk.first == 0);
  CHECK(verdict.first->what ==
        "rank 0, lane 1, step 0 reads chunk 0 of data, lane 0, step 0 overwrites it, and nothing "
        "says which comes first");
}

TEST_CASE("a chain of messages over other ranks is an order") {
  // Rank 0 sends its block in lane 0; rank 1 answers into the same block of lane 1: the answer
  // cannot come before the question was read.
  const TableSchedule there_and_back{{{{send(1, data(0))}, {receive(1, data(0), Combine::copy, 1)}},
                                      {{receive(0, data(0)), send(0, data(0), 1)}}}};
  CHECK(race_in(there_and_back).empty());
  CHECK(race_in(there_and_back, 4).empty());
  // An answer that does not wait for the question is none.
  const TableSchedule crossing{{{{send(1, data(0))}, {receive(1, data(0), Combine::copy, 1)}},
                                {{receive(0, data(1))}, {send(0, data(0), 1)}}},
                               2};
  CHECK_FALSE(race_in(crossing).empty());
}

TEST_CASE("who sees a send end knows that it was written only where sends wait for receives") {
  // Rank 1 sends the block to rank 0's lane 0, then a word to its lane 1, which passes the block
  // on.
  const TableSchedule schedule{
      {{{receive(1, data(0))}, {receive(1, data(1, 0), Combine::copy, 1), send(2, data(0))}},
       {{send(0, data(0)), send(0, data(0, 0), 1)}},
       {{receive(0, data(0))}}},
      2};
  CHECK(race_in(schedule).empty());
  CHECK_FALSE(race_in(schedule, 1).empty());
}

TEST_CASE("two lanes must not add to one block, messages of one step may") {
  const TableSchedule lanes{
      {{{receive(1, data(0), Combine::reduce)}, {receive(2, data(0), Combine::reduce)}},
       {{send(0, data(0))}},
       {{send(0, data(0))}}}};
  CHECK(race_in(lanes) ==
        "rank 0, lane 0, step 0 adds to chunk 0 of data, lane 1, step 0 adds to it, and nothing "
        "says which comes first");
  const auto one_step = [](Combine first) {
    const ScheduleStep both{.receives = {{1, data(0), first}, {2, data(0), Combine::reduce}}};
    return TableSchedule{{{{both}}, {{send(0, data(0))}}, {{send(0, data(0))}}}};
  };
  CHECK(race_in(one_step(Combine::reduce)).empty());
  CHECK(race_in(one_step(Combine::copy)) ==
        "rank 0, lane 0, step 0 takes two messages into chunk 0 of data, and nothing says which "
        "comes first");
}

TEST_CASE("a step may send what it overwrites, and work on what it received") {
  const auto exchange = [](int peer) {
    ScheduleStep step{.sends = {{peer, data(0)}}, .receives = {{peer, data(0), Combine::reduce}}};
    step.locals = {{data(0), data(1), Combine::copy}, {data(1), data(0), Combine::copy}};
    return TableSchedule::Rank{{step, step}, {}};
  };
  CHECK(race_in(TableSchedule{{exchange(1), exchange(0)}, 2}).empty());
}

TEST_CASE("a race that only a narrow window shows is found") {
  // Rank 0's lane 1 puts block 0 back to what it was at the start. That harms only between lane 0's
  // adding to it and lane 0's passing the sum on, because lane 0 gets the sum back after that.
  const Chunk kept{Buffer::scratch, 0, 1};
  const ScheduleStep keep{.locals = {{data(0), kept, Combine::copy}}};
  const ScheduleStep put_back{.locals = {{kept, data(0), Combine::copy}}};
  const TableSchedule schedule{{{{after(receive(1, data(0), Combine::reduce), 1, 0),
                                  send(1, data(0)), after(receive(1, data(0)), 1, 1)},
                                 {keep, put_back}},
                                {{send(0, data(0)), receive(0, data(0)), send(0, data(0))}}},
                               1,
                               0,
                               1};
  CHECK(race_in(schedule) ==
        "rank 0, lane 1, step 1 overwrites chunk 0 of data, lane 0, step 0 adds to it, and nothing "
        "says which comes first");
  CHECK_FALSE(verify(schedule, contract_of(Collective::all_reduce, schedule, 2)).right());
}

TEST_CASE("what is too large is said not to have been looked at") {
  // Rank 0's lane 1 writes what lane 0 sends.
  const ScheduleStep put_back{.locals = {{data(1), data(0), Combine::copy}}};
  const TableSchedule schedule{
      {{{send(1, data(0))}, {after(put_back, 0, 0)}}, {{receive(0, data(0))}, {}}}, 2};
  // Three steps and a message, times four lanes.
  CHECK(check_races(schedule, {}, 16).complete);
  const RaceVerdict verdict = check_races(schedule, {}, 15);
  CHECK_FALSE(verdict.complete);
  CHECK(verdict.right());
}

TEST_CASE("one lane races with itself where a step takes two messages that meet") {
  const auto taken = [](const Receive& first, const Receive& second) {
    const ScheduleStep both{.receives = {first, second}};
    return race_in(TableSchedule{{{{both}},
                                  {{send(0, data(0, first.chunk.count))}},
                                  {{send(0, data(0, second.chunk.count))}}},
                                 4});
  };
  const Combine copy = Combine::copy;
  const Combine sum = Combine::reduce;
  CHECK(taken({1, data(0, 2), copy}, {2, data(2, 2), copy}).empty());
  CHECK(taken({1, data(2, 2), copy}, {2, data(0, 2), sum}).empty());
  CHECK(taken({1, data(0, 3), sum}, {2, data(1, 1), sum}).empty());
  CHECK(taken({1, {Buffer::output, 0, 2}, copy}, {2, data(0, 2), copy}).empty());
  for (const Combine other : {copy, sum}) {
    CHECK_FALSE(taken({1, data(0, 3), copy}, {2, data(2, 2), other}).empty());
    CHECK_FALSE(taken({1, data(1, 1), copy}, {2, data(0, 4), other}).empty());
    CHECK_FALSE(taken({1, data(0, 4), copy}, {2, data(3, 1), other}).empty());
    CHECK_FALSE(taken({1, data(2, 1), copy}, {2, data(2, 1), other}).empty());
  }
}

TEST_CASE("lanes that use blocks of their own are never too many to look at") {
  const auto race = [](const Chunk& other, Combine combine) {
    // Rank 0's lanes: one adds to chunks 0 and 1, the other sends or takes `other`.
    const bool sends = combine == Combine::copy;
    const TableSchedule schedule{
        {{{receive(1, data(0, 2), Combine::reduce)},
          {sends ? send(1, other, 1) : receive(1, other, combine, 1)}},
         {{send(0, data(0, 2))}, {sends ? receive(0, other, combine, 1) : send(0, other, 1)}}},
        4};
    return check_races(schedule, {}, 1);  // too little for clocks
  };
  for (const Combine combine : {Combine::copy, Combine::reduce}) {
    CHECK(race(data(2, 2), combine).complete);
    CHECK(race(data(2, 2), combine).right());
    CHECK_FALSE(race(data(1, 1), combine).complete);
    CHECK_FALSE(race(data(1, 3), combine).complete);
  }
}

TEST_CASE("fewer orders are tried of a large schedule where races are ruled out") {
  // 2 ranks that exchange 2 chunks over 2 lanes: 4 messages and 4 blocks are 5 units of work.
  const auto lane = [](int peer, std::int64_t chunk, Combine combine) {
    const int channel = static_cast<int>(chunk);
    return TableSchedule::Lane{{.sends = {{peer, data(chunk), channel}},
                                .receives = {{peer, data(chunk), combine, channel}}}};
  };
  const auto exchange = [&](std::int64_t second) {
    return TableSchedule{{{lane(1, 0, Combine::reduce), lane(1, second, Combine::reduce)},
                          {lane(0, 0, Combine::reduce), lane(0, second, Combine::reduce)}},
                         2};
  };
  const auto orders = [](const Schedule& schedule, std::int64_t most_work) {
    const Contract contract = contract_of(Collective::all_reduce, schedule, 2);
    return verify(schedule, contract, {.most_work = most_work}).symbols.orders;
  };
  // Three orders and four lanes kept back: six beyond the first, 30 units, and 16 times as many
  // where lanes use blocks of their own.
  CHECK(orders(exchange(1), 16 * 30) == 7);
  CHECK(orders(exchange(1), 16 * 30 - 1) < 7);
  CHECK(orders(exchange(1), 30) == 1);
}

TEST_CASE("lanes that share a channel are executed in all orders") {
  // Lane 1 of rank 0 sends after lane 0, both on channel 0: they are in order, but messages meet
  // receives in the order of execution.
  const auto schedule = [](int channel) {
    ScheduleStep second = send(1, data(1), channel);
    return TableSchedule{{{{send(1, data(0))}, {second}},
                          {{receive(0, data(0))}, {receive(0, data(1), Combine::copy, channel)}}},
                         2};
  };
  const auto orders = [](const Schedule& of) {
    return verify(of, contract_of(Collective::broadcast, of, 2), {.most_work = 18}).symbols.orders;
  };
  // 2 messages and 2 blocks are 3 units of work: one order with a sixteenth of 18, up to seven with
  // all of it.
  CHECK(orders(schedule(1)) == 1);
  CHECK(orders(schedule(0)) > 1);
}
