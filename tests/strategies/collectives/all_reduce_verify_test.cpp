#include <doctest/doctest.h>

#include <random>

#include "sim/execute/schedule_checks/verify.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// Every all-reduce does what it promises, whatever the ranks, their layout and the parameters.
using namespace lockstep;

namespace {

void check(const CollectiveAlgorithm& row, const AlgorithmInput& input) {
  const RowCase each{&row, input};
  CAPTURE(each.name());
  CAPTURE(input.layout.per_node);
  const SchedulePtr schedule = each.make();
  VerifyOptions options;
  options.most_work = 1 << 15;  // few orders of execution, for many schedules
  const CollectiveVerdict verdict = verify(*schedule, each.contract(*schedule), options);
  CHECK_MESSAGE(verdict.right(), verdict.problem());
}

std::vector<const CollectiveAlgorithm*> all_reduces() {
  std::vector<const CollectiveAlgorithm*> rows;
  for (const CollectiveAlgorithm& row : collective_algorithms())
    if (row.collective == Collective::all_reduce) rows.push_back(&row);
  return rows;
}

/// Sizes whose product is about `most`, at most.
std::vector<int> draw_dimensions(std::mt19937& random, int most) {
  std::vector<int> sizes;
  for (int product = 1; product < most && sizes.size() < 4;) {
    sizes.push_back(1 + static_cast<int>(random() % 6));
    product *= sizes.back();
    if (product > most) sizes.pop_back();
  }
  return sizes;
}

}  // namespace

TEST_CASE("every all-reduce adds up on 1 to 33 ranks") {
  for (const CollectiveAlgorithm* row : all_reduces()) {
    for (int n = 1; n <= 33; ++n) {
      check(*row, {.n = n, .layout = layout_for(n)});
      AlgorithmInput bare{.n = n};
      if (validate(*row, bare).empty()) check(*row, bare);
    }
  }
}

TEST_CASE("every all-reduce adds up in nodes on rails, whatever its chunks") {
  std::mt19937 random{2};
  for (const CollectiveAlgorithm* row : all_reduces()) {
    for (int draw = 0; draw < 12; ++draw) {
      const int per_node = 1 + static_cast<int>(random() % 5);
      const int n = per_node * (1 + static_cast<int>(random() % 9));
      AlgorithmInput input{.n = n,
                           .layout = rails(n, per_node, 1 + static_cast<int>(random() % 3))};
      for (const char* name : {"chunks", "channels", "shards"}) {
        if (find_parameter(*row, name) != nullptr)
          input.arguments.emplace(name, static_cast<std::int64_t>(1 + random() % 3));
      }
      if (find_parameter(*row, "inner") != nullptr) {
        auto names = algorithm_names(Collective::all_reduce);
        names.insert(names.end(), {"ring:channels=2", "torus:copies=1", "hierarchical:group=1"});
        input.arguments.emplace("inner", std::string{names[random() % names.size()]});
      }
      if (find_parameter(*row, "intra") != nullptr && draw % 2 == 0)
        input.arguments.emplace("intra", "direct");
      if (validate(*row, input).empty()) check(*row, input);
    }
  }
}

TEST_CASE("every all-reduce adds up on a large number of ranks") {
  std::mt19937 random{3};
  for (const CollectiveAlgorithm* row : all_reduces()) {
    for (const int least : {34, 65}) {
      const int n = least + static_cast<int>(random() % 30);
      check(*row, {.n = n, .layout = layout_for(n)});
    }
  }
}

TEST_CASE("grids of any dimensions add up") {
  std::mt19937 random{4};
  for (const char* name : {"blueconnect", "torus", "ring", "bidirectional_ring"}) {
    const CollectiveAlgorithm& row = *find_algorithm(Collective::all_reduce, name);
    for (int draw = 0; draw < 10; ++draw) {
      const std::vector<int> sizes = draw_dimensions(random, 40);
      int n = 1;
      for (const int size : sizes) n *= size;
      AlgorithmInput input{.n = n};
      input.layout.dimensions = sizes;
      check(row, input);
      if (name == std::string_view{"ring"}) {
        input.arguments.emplace("channels", std::int64_t{4});
        check(row, input);
      }
      if (find_parameter(row, "dims") == nullptr) continue;
      input.arguments.emplace("dims", std::vector<int>(sizes.rbegin(), sizes.rend()));
      check(row, input);
    }
  }
}
