#include <doctest/doctest.h>

#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// Copy engines gather parameters while the multiprocessors compute.
namespace lockstep::test {
namespace {

/// Eight GPUs of one node that gather every layer's parameters ahead of it.
FoldCase sharded(const std::string& algorithm, double slowdown) {
  TransformerConfig shape;
  shape.layers = 4;
  shape.hidden = 256;
  shape.heads = 4;
  shape.sequence = 512;
  shape.vocabulary = 512;
  ParallelConfig layout;
  layout.dp = 8;
  layout.zero = 3;
  layout.micro_batch = 1;
  layout.global_batch = 8;
  layout.overlap = {Overlap::dp_parameters};
  layout.algorithms["dp"] = algorithm;
  FoldCase out{"", {}, cluster_of("dgx-h100", 8)};
  out.layout.model = transformer(shape);
  out.layout.parallel = layout;
  out.slowdown = slowdown;
  return out;
}

Duration step_time(const FoldCase& of) {
  return simulated_step(of, Folding::off).timeline.end.since_start();
}

TEST_CASE("computation beside copy engines is not slowed down") {
  // Gradients are not hidden: nothing is computed meanwhile, by whatever they are reduced.
  CHECK(step_time(sharded("copy_engine", 2)) == step_time(sharded("copy_engine", 1)));
  CHECK(step_time(sharded("direct", 2)) > step_time(sharded("direct", 1)));
}

TEST_CASE("copy engines are the same with ranks folded") {
  for (const double slowdown : {1.0, 2.0}) {
    const FoldOutcome outcome = hold_against_unfolded(sharded("copy_engine", slowdown));
    CHECK(outcome.difference == "");
    CHECK(outcome.classes < outcome.ranks);
  }
}

}  // namespace
}  // namespace lockstep::test
