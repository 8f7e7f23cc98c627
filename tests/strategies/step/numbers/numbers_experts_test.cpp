#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/strategies/step/numbers/numbers_harness.hpp"

// Expert parallelism against one device.
namespace lockstep::test {
namespace {

TEST_CASE("expert parallelism computes what one device does") {
  for (const TransformerConfig& base : {gpt(), llama()}) {
    const ModelConfig model = model_of(experts(base));
    check(model, layout(4));
    ParallelConfig parallel = layout(4);
    for (const int ep : {2, 4}) {
      CAPTURE(ep);
      parallel.ep = ep;
      check(model, parallel);
      for (const int zero : {1, 2, 3}) {
        CAPTURE(zero);
        ParallelConfig sharded = parallel;
        sharded.zero = zero;
        check(model, sharded);
      }
      ParallelConfig more = layout(2);
      more.ep = ep;
      more.tp = 2;
      more.cp = 2;
      check(model, more);
      more.sequence_parallel = true;
      check(model, more);
    }
  }
}

// Experts are cut along the very ranks that all else is sharded over; their replicas lie beyond.
TEST_CASE("hybrid shards within expert parallelism compute what one device does") {
  for (const int zero : {1, 2, 3}) {
    for (const int shards : {2, 4}) {
      CAPTURE(zero);
      CAPTURE(shards);
      ParallelConfig parallel = layout(4);
      parallel.ep = 2;
      parallel.zero = zero;
      parallel.shard_ranks = shards;
      check(model_of(experts(llama())), parallel);
    }
  }
}

// Ranks that hold experts are numbered along other axes than tokens are cut: first cp, then dp.
TEST_CASE("tokens find their experts and come back, whatever the order of the axes") {
  TransformerConfig shape = experts(gpt());
  shape.layers = 2;
  shape.experts->dense_layers = 0;
  ParallelConfig parallel = layout(2);
  parallel.tp = 2;
  parallel.cp = 2;
  parallel.ep = 4;
  for (const auto& order : std::vector<std::vector<std::string>>{
           {"pp", "dp", "cp", "tp"}, {"dp", "tp", "cp", "pp"}, {"cp", "dp", "tp", "pp"}}) {
    CAPTURE(order.front());
    parallel.order = order;
    parallel.sequence_parallel = false;
    check(model_of(shape), parallel);
    parallel.sequence_parallel = true;
    check(model_of(shape), parallel);
  }
}

}  // namespace
}  // namespace lockstep::test
