#include <doctest/doctest.h>

#include "strategies/models/count/count.hpp"
#include "tests/strategies/step/fold/fold_harness.hpp"
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
  out.layout.parallel.dp = 8;
  out.layout.parallel.global_batch = 8;
  out.layout.parallel.algorithms = {{"dp", algorithm}};
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
  ring.options.speeds[3].speed = 0.8;
  CHECK(exact(ring).classes == 8);
  // Where everyone talks to everyone, the seven others are as far from it as each other.
  FoldCase direct = data_parallel("direct");
  direct.options.speeds[3].speed = 0.8;
  CHECK(exact(direct).classes == 2);
}

TEST_CASE("a straggler in one tensor group leaves the groups of other replicas alike") {
  // Eight ranks, tp 2 by rings of two and dp 4 by all with all: the straggler, its partner, and in
  // the three other groups the ranks that exchange gradients with the one or with the other.
  FoldCase layout = data_parallel("direct");
  layout.layout.parallel.dp = 4;
  layout.layout.parallel.tp = 2;
  CHECK(exact(layout).classes <= 2);
  layout.options.speeds[0].speed = 0.5;
  CHECK(exact(layout).classes == 4);
}

TEST_CASE("ranks that are slower at the same times are of one class") {
  FoldCase direct = data_parallel("direct");
  const SlowWindow window{TimePoint{1_us}, TimePoint{9_us}, 0.5};
  direct.options.speeds[3].windows = {window};
  direct.options.speeds[5].windows = {window};
  CHECK(exact(direct).classes == 2);
  direct.options.speeds[5].windows.front().until = TimePoint{10_us};
  CHECK(exact(direct).classes == 3);
  const SimulatedTrainingStep step = simulated_step(direct, Folding::always);
  CHECK(step.classes[1].difference == "computes at 0.5 of the speed from 1 us to 9 us");
}

TEST_CASE("a slow window of the whole step is a straggler") {
  // At half the speed both are exact: times are doubled.
  FoldCase always = data_parallel("ring");
  always.slowdown = 1.25;
  always.options.speeds[3].speed = 0.5;
  FoldCase window = always;
  window.options.speeds[3] = {1, {{TimePoint{}, SlowWindow::kNoEnd, 0.5}}};
  CHECK(first_difference(simulated_step(window, Folding::off),
                         simulated_step(always, Folding::off)) == "");
}

TEST_CASE("a slow link splits as a straggler does") {
  FoldCase direct = data_parallel("direct");
  direct.cluster = with_slow_link(direct.cluster, 0);
  CHECK(exact(direct).classes == 2);
}

TEST_CASE("stages of a pipeline are classes of their own") {
  FoldCase layout = data_parallel("ring");
  layout.layout.parallel.dp = 2;
  layout.layout.parallel.pp = 4;
  layout.layout.parallel.schedule = PipelineOrder::one_f_one_b;
  CHECK(exact(layout).classes == 4);
}

TEST_CASE("replicas that train apart are one class, wherever their outer weights are") {
  // Loaded twice at 16 GB/s and sent back, each parameter's 4 bytes.
  FoldCase apart = data_parallel("direct");
  apart.layout.parallel.exchange = GradientExchange::diloco;
  apart.layout.parallel.outer_replicas = 2;
  apart.options.host_link = 16_GBps;
  CHECK(exact(apart).classes == 1);
  const Duration on_device = simulated_step(apart, Folding::off).timeline.end.since_start();
  apart.layout.parallel.outer_on_host = true;
  CHECK(exact(apart).classes == 1);
  const Duration on_host = simulated_step(apart, Folding::off).timeline.end.since_start();
  const auto bytes = static_cast<double>(4 * count_parameters(apart.layout.model).trained());
  const double copies = 3 * bytes / 16e9;
  CHECK((on_host - on_device).seconds() == doctest::Approx(copies).epsilon(0.01));
}

TEST_CASE("a rank at half the speed takes twice as long for each kernel") {
  FoldCase alone = data_parallel("ring");
  alone.layout.parallel.dp = 1;
  alone.cluster = switched(1);
  const SimulatedTrainingStep usual = simulated_step(alone, Folding::off);
  alone.options.speeds[0].speed = 0.5;
  const SimulatedTrainingStep slow = simulated_step(alone, Folding::off);
  // Nothing is sent, so that the step is its kernels one after the other.
  CHECK(slow.timeline.end.since_start() == usual.timeline.end.since_start() * 2);
}

}  // namespace lockstep::test
