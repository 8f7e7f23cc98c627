#include "strategies/collectives/all_gather/algorithms.hpp"

#include <doctest/doctest.h>

#include "strategies/collectives/schedules/ceil_lg.hpp"

#include "tests/strategies/collectives/rows_under_test.hpp"

using namespace lockstep;
using test::row_of;

namespace {

/// The blocks that `rank` sends in a step, message after message.
std::vector<std::int64_t> sent_blocks(const Schedule& schedule, int rank, std::int64_t index) {
  ScheduleStep step;
  schedule.step(rank, 0, index, step);
  std::vector<std::int64_t> blocks;
  for (const Send& send : step.sends) {
    std::vector<Chunk> chunks{send.chunk};
    for (const Chunk& chunk : step.more(send.more)) chunks.push_back(chunk);
    for (const Chunk& chunk : chunks)
      for (std::int64_t i = 0; i < chunk.count; ++i) blocks.push_back(chunk.first + i);
  }
  return blocks;
}

int first_peer(const Schedule& schedule, int rank, std::int64_t index) {
  ScheduleStep step;
  schedule.step(rank, 0, index, step);
  return step.sends.at(0).peer;
}

using Blocks = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("every all-gather gives everyone every part") {
  test::check_every_row(Collective::all_gather);
}

TEST_CASE("what an all-gather costs is the textbook's") {
  // (n-1) blocks through every port, in n-1, ceil(lg n), 1 and n/2 rounds.
  for (const int n : {2, 4, 8, 16, 32}) {
    CAPTURE(n);
    const int lg = ceil_lg(n);
    const std::vector<std::pair<std::string_view, int>> rounds{
        {"ring", n - 1}, {"recursive_doubling", lg},    {"bruck", lg},
        {"direct", 1},   {"neighbour_exchange", n / 2}, {"pat", lg}};
    for (const auto& [name, expected] : rounds) {
      CAPTURE(name);
      const CollectiveCost cost = *cost_of(row_of(Collective::all_gather, name), {.n = n});
      CHECK(cost.rounds == expected);
      CHECK(cost.path_blocks == n - 1);
      CHECK(cost.sent_blocks == n - 1);
    }
  }
  // n = 5, one extra rank: 1 block to its partner; 2, then 3 of the core; 4 back. 1 + 2 + 3 + 4.
  CHECK(all_gather::recursive_doubling_cost(5).path_blocks == 10);
  CHECK(all_gather::recursive_doubling_cost(5).rounds == 4);
}

TEST_CASE("neighbour exchange refuses odd numbers of ranks") {
  const CollectiveAlgorithm& row = row_of(Collective::all_gather, "neighbour_exchange");
  CHECK(validate(row, {.n = 1}).empty());
  CHECK(validate(row, {.n = 6}).empty());
  CHECK(validate(row, {.n = 7}) ==
        std::vector<std::string>{"neighbour_exchange: needs an even number of ranks, got 7"});
}

TEST_CASE("neighbour exchange passes on the pair that came last") {
  // Rank 2 of 8: with 3, then 1, 3, 1. It receives pair (0,1) from 1, (4,5) from 3.
  const SchedulePtr schedule = all_gather::make_neighbour_exchange(8);
  CHECK(sent_blocks(*schedule, 2, 0) == Blocks{2});
  CHECK(sent_blocks(*schedule, 2, 1) == Blocks{2, 3});
  CHECK(sent_blocks(*schedule, 2, 2) == Blocks{0, 1});
  CHECK(sent_blocks(*schedule, 2, 3) == Blocks{4, 5});
  CHECK(first_peer(*schedule, 2, 2) == 3);
  CHECK(first_peer(*schedule, 2, 3) == 1);
}

TEST_CASE("PAT sends one block far, then more and more ever nearer") {
  // Rank 1 of 8, whose trees come from 1, from 1-4, and from 1-2, 1-4, 1-6 (Jeaugey 2025).
  const SchedulePtr schedule = all_gather::make_pat(8);
  CHECK(first_peer(*schedule, 1, 0) == 5);
  CHECK(sent_blocks(*schedule, 1, 0) == Blocks{1});
  CHECK(first_peer(*schedule, 1, 1) == 3);
  CHECK(sent_blocks(*schedule, 1, 1) == Blocks{1, 5});
  CHECK(first_peer(*schedule, 1, 2) == 2);
  CHECK(sent_blocks(*schedule, 1, 2) == Blocks{1, 7, 5, 3});
  // 6 ranks: a tree has no position 6, so that position 4 has a child 5 but none 2 further.
  const SchedulePtr six = all_gather::make_pat(6);
  CHECK(sent_blocks(*six, 0, 0) == Blocks{0});
  CHECK(sent_blocks(*six, 0, 1) == Blocks{0});
  CHECK(sent_blocks(*six, 0, 2) == Blocks{0, 4, 2});
}

TEST_CASE("Bruck's blocks are turned into their places at the end") {
  ScheduleStep step;
  all_gather::make_bruck(5)->step(3, 0, 2, step);
  // Scratch holds 3, 4, 0, 1, 2: block 4 goes to its place, then 0 .. 2.
  REQUIRE(step.locals.size() == 2);
  CHECK(step.locals[0].from.first == 1);
  CHECK(step.locals[0].to.first == 4);
  CHECK(step.locals[0].to.count == 1);
  CHECK(step.locals[1].from.first == 2);
  CHECK(step.locals[1].to.first == 0);
  CHECK(step.locals[1].to.count == 3);
}
