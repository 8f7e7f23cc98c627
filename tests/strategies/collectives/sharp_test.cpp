#include <doctest/doctest.h>

#include <random>

#include "sim/schedule/schedule_traits.hpp"
#include "tests/strategies/collectives/rows_under_test.hpp"

/// Reduce-scatter and all-gather by switches of the network; all-reduces are with the others.
using namespace lockstep;

TEST_CASE("SHARP's halves do what they promise in nodes on rails, whatever their chunks") {
  std::mt19937 random{5};
  for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather}) {
    const CollectiveAlgorithm& row = test::row_of(collective, "sharp");
    for (int draw = 0; draw < 40; ++draw) {
      const int per_node = 1 + static_cast<int>(random() % 5);
      const int n = per_node * (1 + static_cast<int>(random() % 8));
      AlgorithmInput input{.n = n,
                           .layout = rails(n, per_node, 1 + static_cast<int>(random() % 3))};
      input.arguments.emplace("chunks", static_cast<std::int64_t>(1 + random() % 3));
      CAPTURE(per_node);
      REQUIRE(validate(row, input).empty());
      test::check_result(row, input);
    }
  }
}

TEST_CASE("SHARP with NVLS inside nodes adds up in the switches of both") {
  std::mt19937 random{7};
  const CollectiveAlgorithm& row = test::row_of(Collective::all_reduce, "sharp");
  for (int draw = 0; draw < 40; ++draw) {
    const int per_node = 1 + static_cast<int>(random() % 5);
    const int n = per_node * (1 + static_cast<int>(random() % 8));
    AlgorithmInput input{.n = n, .layout = rails(n, per_node, 1 + static_cast<int>(random() % 3))};
    input.arguments.emplace("chunks", static_cast<std::int64_t>(1 + random() % 3));
    input.arguments.emplace("inside", "nvls");
    CAPTURE(per_node);
    CAPTURE(n);
    REQUIRE(validate(row, input).empty());
    test::check_result(row, input);
  }
  AlgorithmInput input{.n = 4, .layout = rails(4, 2, 2)};
  input.arguments.emplace("inside", "nvls");
  input.layout.node_switches.clear();
  CHECK(validate(row, input) ==
        std::vector<std::string>{"sharp: needs switches that reduce inside the nodes; this cluster "
                                 "has none"});
}

TEST_CASE("sizes of the steps of SHARP's halves are those of their runs of blocks") {
  std::mt19937 random{6};
  ScheduleStep whole;
  ScheduleStep sizes;
  const auto check_messages = [&](const auto& runs, const auto& one) {
    REQUIRE(one.size() == runs.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      CHECK(one[i].peer == runs[i].peer);
      CHECK(one[i].channel == runs[i].channel);
      CHECK(one[i].chunk.buffer == runs[i].chunk.buffer);
      CHECK(one[i].more.count == 0);
      CHECK(one[i].chunk.count == whole.blocks_of(runs[i]));
    }
  };
  for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather}) {
    for (int draw = 0; draw < 20; ++draw) {
      const int per_node = 1 + static_cast<int>(random() % 3);
      const int n = per_node * (1 + static_cast<int>(random() % 6));
      AlgorithmInput input{.n = n,
                           .layout = rails(n, per_node, 1 + static_cast<int>(random() % 3))};
      // More chunks than nodes are pieces of all nodes' blocks.
      input.arguments.emplace("chunks", static_cast<std::int64_t>(1 + random() % 9));
      const SchedulePtr schedule = make_schedule(test::row_of(collective, "sharp"), input);
      const auto* sized = dynamic_cast<const SizedSchedule*>(schedule.get());
      REQUIRE(sized != nullptr);
      for (int rank = 0; rank < schedule->ranks(); ++rank) {
        for (int lane = 0; lane < schedule->lanes(); ++lane) {
          for (std::int64_t index = 0; index < schedule->steps(rank, lane); ++index) {
            whole.clear();
            sizes.clear();
            schedule->step(rank, lane, index, whole);
            sized->sizes(rank, lane, index, sizes);
            check_messages(whole.sends, sizes.sends);
            check_messages(whole.receives, sizes.receives);
            CHECK(sizes.after.size() == whole.after.size());
          }
        }
      }
    }
  }
}

TEST_CASE("SHARP's halves are refused where no tree of switches has all ranks of a rail") {
  using Problems = std::vector<std::string>;
  for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather}) {
    const CollectiveAlgorithm& row = test::row_of(collective, "sharp");
    CHECK(validate(row, {.n = 4}) ==
          Problems{"sharp: needs a tree of reducing switches in the network that reaches every "
                   "rank without failed links; this cluster has none"});
    AlgorithmInput two_trees{.n = 2};
    two_trees.layout.fabric_switches = {2, 3, -1, -1};
    CHECK(validate(row, two_trees) ==
          Problems{"sharp: ranks 0 and 1 share no switch that reduces"});
  }
}
