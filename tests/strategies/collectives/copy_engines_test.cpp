#include "strategies/collectives/copy_engines.hpp"

#include "tests/strategies/collectives/rows_under_test.hpp"

/// Collectives that copy engines execute.
namespace lockstep::test {
namespace {

constexpr Collective kCopies[]{Collective::all_gather, Collective::all_to_all, Collective::gather,
                               Collective::scatter};

AlgorithmInput in_domain(int n, int root = 0) {
  AlgorithmInput input{.n = n, .root = root};
  input.layout.nvlink_domain = true;
  return input;
}

TEST_CASE("copy engines give what the collectives promise, in the time of direct copies") {
  for (const Collective collective : kCopies) {
    const CollectiveAlgorithm& row = row_of(collective, "copy_engine");
    CHECK(row.on_copy_engines);
    for (int n = 1; n <= 33; ++n) {
      for (const int root : has_root(collective) ? roots_of(n) : std::vector<int>{0}) {
        const AlgorithmInput input = in_domain(n, root);
        check_result(row, input);
        const auto cost = cost_of(row, input);
        if (n == 1 || !cost) continue;
        // One message per block; a rank, or the root, has n-1 of them on its port.
        CHECK(cost->rounds == 1);
        CHECK(cost->path_blocks == n - 1);
        CHECK(cost->reduced_blocks == 0);
      }
    }
  }
}

TEST_CASE("copy engines reduce nothing, and no other algorithm runs on them") {
  for (const CollectiveAlgorithm& row : collective_algorithms())
    CHECK(row.on_copy_engines == (row.name == "copy_engine"));
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce})
    CHECK(find_algorithm(collective, "copy_engine") == nullptr);
}

TEST_CASE("copy engines need one NVLink domain") {
  for (const Collective collective : kCopies) {
    const CollectiveAlgorithm& row = row_of(collective, "copy_engine");
    AlgorithmInput input = in_domain(8);
    CHECK(validate(row, input).empty());
    input.layout.nvlink_domain = false;
    const auto problems = validate(row, input);
    REQUIRE(problems.size() == 1);
    CHECK(problems.front().find("one NVLink domain") != std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::test
