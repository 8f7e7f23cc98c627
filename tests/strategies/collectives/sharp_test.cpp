#include <doctest/doctest.h>

#include <random>

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
