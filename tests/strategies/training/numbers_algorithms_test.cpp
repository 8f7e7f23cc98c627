#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "strategies/collectives/registry.hpp"
#include "tests/strategies/training/numbers_harness.hpp"

namespace lockstep::test {
namespace {

/// The algorithm of that name wherever it does the collective and takes so many ranks; else the
/// first of its table that does.
ScheduleOf by(std::string_view name) {
  return [name](const Communication& how, int members, int root) -> SchedulePtr {
    AlgorithmInput input;
    input.n = members;
    input.root = root;
    const CollectiveAlgorithm* wanted = find_algorithm(how.collective, name);
    if (wanted != nullptr && validate(*wanted, input).empty()) return make_schedule(*wanted, input);
    for (const CollectiveAlgorithm& other : collective_algorithms()) {
      if (other.collective == how.collective && validate(other, input).empty()) {
        return make_schedule(other, input);
      }
    }
    return nullptr;
  };
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> out;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (std::find(out.begin(), out.end(), algorithm.name) == out.end()) {
      out.push_back(algorithm.name);
    }
  }
  return out;
}

// The transfers of the algorithms do the work: no collective is taken for granted.
TEST_CASE("every collective algorithm trains as one device does") {
  ParallelConfig tensor = plan(4);
  tensor.tp = 2;
  tensor.sequence_parallel = true;
  ParallelConfig sharded = plan(3);
  sharded.zero = 3;
  ParallelConfig spread = plan(4);
  spread.ep = 4;
  ParallelConfig servers = plan(3);
  servers.exchange = GradientExchange::parameter_server;
  TransformerConfig shape = gpt();
  shape.layers = 1;
  TransformerConfig all_experts = experts(shape);
  all_experts.experts->dense_layers = 0;
  for (const std::string_view name : all_names()) {
    CAPTURE(name);
    ExecutionOptions options;
    int asked = 0;
    options.schedule_of = [&asked, of = by(name)](const Communication& how, int members, int root) {
      ++asked;
      return of(how, members, root);
    };
    for (const ParallelConfig& parallel :
         {tensor, sharded, servers, context(ContextKind::ring, 4, true),
          context(ContextKind::ulysses, 4, true)}) {
      CHECK(trouble(model_of(shape), parallel, single_device(parallel), options) == "");
    }
    CHECK(trouble(model_of(all_experts), spread, single_device(spread), options) == "");
    CHECK(asked > 0);
  }
}

}  // namespace
}  // namespace lockstep::test
