#include "strategies/collectives/all_to_all/algorithms.hpp"

#include <doctest/doctest.h>

#include "strategies/collectives/schedules/ceil_lg.hpp"

#include "tests/strategies/collectives/rows_under_test.hpp"

using namespace lockstep;
using test::row_of;

TEST_CASE("every all-to-all brings each block from its sender to its receiver") {
  test::check_every_row(Collective::all_to_all);
}

TEST_CASE("a hierarchical all-to-all takes any nodes that divide the ranks") {
  const CollectiveAlgorithm& row = row_of(Collective::all_to_all, "hierarchical");
  for (const auto& [n, group] : std::vector<std::pair<int, int>>{
           {6, 2}, {6, 3}, {12, 4}, {12, 6}, {15, 5}, {16, 8}, {32, 8}, {35, 7}}) {
    test::check_result(row, {.n = n, .arguments = {{"group", group}}});
    AlgorithmInput by_layout{.n = n};
    by_layout.layout.per_node = group;
    test::check_result(row, by_layout);
  }
  CHECK(validate(row, {.n = 10, .arguments = {{"group", 4}}}) ==
        std::vector<std::string>{"hierarchical: nodes of 4 ranks do not divide 10 ranks"});
}

TEST_CASE("a hierarchical all-to-all sends one message to each node, along its rail") {
  // Rank 9 of 16 in nodes of 4 is local rank 1 of node 2: then to 13, 1, 5, four blocks each.
  const SchedulePtr schedule = all_to_all::make_hierarchical(16, 4);
  ScheduleStep step;
  schedule->step(9, 0, 1, step);
  std::vector<int> peers;
  for (const Send& send : step.sends) {
    peers.push_back(send.peer);
    CHECK(step.blocks_of(send) == 4);
  }
  CHECK(peers == std::vector<int>{13, 1, 5});
  // Before, to its node: blocks for all ranks of the receiver's rail.
  step.clear();
  schedule->step(9, 0, 0, step);
  REQUIRE(step.sends.size() == 3);
  CHECK(step.sends[0].peer == 10);
  CHECK(step.sends[0].chunk.first == 2);
  REQUIRE(step.more(step.sends[0].more).size() == 3);
  CHECK(step.more(step.sends[0].more)[0].first == 6);
}

TEST_CASE("what an all-to-all costs is the textbook's") {
  for (const int n : {2, 4, 8, 16}) {
    CAPTURE(n);
    CHECK(all_to_all::pairwise_cost(n)->rounds == n - 1);
    CHECK(all_to_all::pairwise_cost(n)->path_blocks == n - 1);
    CHECK(all_to_all::direct_cost(n)->path_blocks == n - 1);
    // Each of lg n rounds moves half of the blocks.
    const int lg = ceil_lg(n);
    CHECK(all_to_all::bruck_cost(n)->rounds == lg);
    CHECK(all_to_all::bruck_cost(n)->path_blocks == lg * n / 2);
  }
  // 1, 10, 11, 100, 101, 110 have 1 + 1 + 2 + 1 + 2 + 2 ones.
  CHECK(all_to_all::bruck_cost(7)->path_blocks == 9);
  // Nodes of 4: 3 messages of 4 blocks within, 3 of 4 blocks across.
  CHECK(all_to_all::hierarchical_cost(16, 4)->rounds == 2);
  CHECK(all_to_all::hierarchical_cost(16, 4)->path_blocks == 3 * 4 + 3 * 4);
  CHECK(all_to_all::hierarchical_cost(16, 1)->path_blocks == 15);
  CHECK(all_to_all::hierarchical_cost(16, 16)->path_blocks == 15);
}

TEST_CASE("pairs exchange where the ranks are a power of two, else a shift of all") {
  const auto peers = [](int n, int rank, std::int64_t index) {
    ScheduleStep step;
    all_to_all::make_pairwise(n)->step(rank, 0, index, step);
    return std::pair{step.sends.at(0).peer, step.receives.at(0).peer};
  };
  CHECK(peers(8, 5, 2) == std::pair{6, 6});  // 5 XOR 3
  CHECK(peers(7, 5, 2) == std::pair{1, 2});  // 5 + 3, 5 - 3 mod 7
}
