#include <doctest/doctest.h>

#include "tests/strategies/step/fold_harness.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// Which ranks of a step are folded, and what a slow one does.
namespace lockstep::test {
namespace {

[[nodiscard]] TransformerConfig shape() {
  TransformerConfig out;
  out.layers = 4;
  out.hidden = 64;
  out.heads = 8;
  out.sequence = 64;
  out.vocabulary = 128;
  return out;
}

[[nodiscard]] FoldCase data_parallel(const std::string& algorithm) {
  FoldCase out{"", {transformer(shape()), {}}, switched(8)};
  out.plan.parallel.dp = 8;
  out.plan.parallel.global_batch = 8;
  out.plan.parallel.algorithms = {{"dp", algorithm}};
  return out;
}

[[nodiscard]] FoldOutcome exact(const FoldCase& fold_case) {
  const FoldOutcome out = hold_against_unfolded(fold_case);
  CHECK(out.difference == "");
  return out;
}

}  // namespace

TEST_CASE("replicas on one switch are one class") {
  CHECK(exact(data_parallel("ring")).classes == 1);
  CHECK(exact(data_parallel("direct")).classes == 1);
}

TEST_CASE("a straggler splits those concerned") {
  // Round a ring of eight, ranks differ by how far behind the straggler they come.
  FoldCase ring = data_parallel("ring");
  ring.options.speeds[3] = 0.8;
  CHECK(exact(ring).classes == 8);
  // Where everyone talks to everyone, the seven others are as far from it as each other.
  FoldCase direct = data_parallel("direct");
  direct.options.speeds[3] = 0.8;
  CHECK(exact(direct).classes == 2);
}

TEST_CASE("a straggler in one tensor group leaves the groups of other replicas alike") {
  // Eight ranks, tp 2 by rings of two and dp 4 by all with all: the straggler, its partner, and in
  // the three other groups the ranks that exchange gradients with the one or with the other.
  FoldCase plan = data_parallel("direct");
  plan.plan.parallel.dp = 4;
  plan.plan.parallel.tp = 2;
  CHECK(exact(plan).classes <= 2);
  plan.options.speeds[0] = 0.5;
  CHECK(exact(plan).classes == 4);
}

TEST_CASE("a slow link splits as a straggler does") {
  FoldCase direct = data_parallel("direct");
  direct.cluster = with_slow_link(direct.cluster, 0);
  CHECK(exact(direct).classes == 2);
}

TEST_CASE("stages of a pipeline are classes of their own") {
  FoldCase plan = data_parallel("ring");
  plan.plan.parallel.dp = 2;
  plan.plan.parallel.pp = 4;
  plan.plan.parallel.schedule = PipelineOrder::one_f_one_b;
  CHECK(exact(plan).classes == 4);
}

TEST_CASE("a rank at half the speed takes twice as long for each kernel") {
  FoldCase alone = data_parallel("ring");
  alone.plan.parallel.dp = 1;
  alone.cluster = switched(1);
  const SimulatedStep usual = simulated_step(alone, Folding::off);
  alone.options.speeds[0] = 0.5;
  const SimulatedStep slow = simulated_step(alone, Folding::off);
  // Nothing is sent, so that the step is its kernels one after the other.
  CHECK(slow.timeline.end.since_start() == usual.timeline.end.since_start() * 2);
}

}  // namespace lockstep::test
