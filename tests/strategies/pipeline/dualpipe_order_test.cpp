#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <random>

#include "tests/strategies/pipeline/replayed_order.hpp"

/// DualPipe: deepseek-ai/DualPipe, README and dualpipe/dualpipe.py. p stages, an even number; m
/// microbatches, half of them from each end.
namespace lockstep {
namespace {

using test::bubble;
using test::held;
using test::Pipeline;
using test::Replay;
using Work = PipelineStep::Work;

constexpr PipelineOrder kDualPipe = PipelineOrder::dualpipe;

TEST_CASE("DualPipe: each copy of the model does all work of its half of the microbatches once") {
  for (const int p : {2, 4, 6, 8}) {
    for (const int m : {2 * p, 2 * p + 2, 6 * p}) {
      for (int stage = 0; stage < p; ++stage) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(stage);
        std::map<std::tuple<Work, int, int>, int> count;
        for (const PipelineStep& step : pipeline_order({kDualPipe, p, 1, m}, stage)) {
          const bool whole = step.work == Work::backward;
          if (!whole) ++count[{step.work, step.chunk, step.microbatch}];
          if (!whole) continue;
          ++count[{Work::input_gradient, step.chunk, step.microbatch}];
          ++count[{Work::weight_gradient, step.chunk, step.microbatch}];
        }
        for (const Work work : {Work::forward, Work::input_gradient, Work::weight_gradient})
          for (int microbatch = 0; microbatch < m; ++microbatch)
            CHECK(count[{work, microbatch < m / 2 ? 0 : 1, microbatch}] == 1);
        CHECK(static_cast<int>(count.size()) == 3 * m);
      }
    }
  }
}

TEST_CASE("DualPipe: none waits for itself, whatever passes take") {
  std::mt19937_64 random(20412);
  const auto draw = [&random](int least, int most) {
    return least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  for (int round = 0; round < 40; ++round) {
    const int p = 2 * draw(1, 5);
    const Pipeline pipeline{kDualPipe, p, 1, 2 * draw(p, 3 * p)};
    CHECK(Replay(pipeline, {draw(1, 5), draw(1, 5), draw(1, 5)}).ended());
  }
}

TEST_CASE("DualPipe: the two stages with the same weights do the same at the same time") {
  for (const int p : {2, 4, 8}) {
    const int m = 3 * p;
    for (int stage = 0; stage < p; ++stage) {
      const auto one = pipeline_order({kDualPipe, p, 1, m, 0, true}, stage);
      const auto other = pipeline_order({kDualPipe, p, 1, m, 0, true}, p - 1 - stage);
      REQUIRE(one.size() == other.size());
      for (std::size_t i = 0; i < one.size(); ++i) {
        CHECK(one[i].work == other[i].work);
        CHECK(one[i].paired == other[i].paired);
        CHECK(one[i].chunk == 1 - other[i].chunk);
        CHECK(one[i].microbatch % (m / 2) == other[i].microbatch % (m / 2));
        // Chunk 0 of stage s is stage s of the model, chunk 1 is stage p - 1 - s of the second
        // copy.
        CHECK(model_chunk(kDualPipe, p, stage, one[i].chunk) % p ==
              model_chunk(kDualPipe, p, p - 1 - stage, other[i].chunk) % p);
      }
    }
  }
}

// README: the bubble is (p/2 - 1)(F&B + B - 3W), F&B being a pair of a forward and a whole backward
// pass, both sent at its end, B a whole backward pass: with tF, tB of the input's gradient and tW,
// one after the other, tF + 2 tB - tW; where tF and tB differ, stages wait for the longer one.
TEST_CASE("DualPipe idles (p/2 - 1)(tF + 2 tB - tW), as DualPipeV with half as many stages") {
  for (const int p : {2, 4, 8, 16}) {
    for (const int m : {2 * p, 2 * p + 2, 8 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      for (const test::Times times :
           {test::Times{1, 1, 1}, {5, 5, 1}, {3, 3, 2}, {4, 3, 2}, {3, 4, 2}, {1, 2, 1}}) {
        const auto& [f, b, w] = times;
        CAPTURE(f);
        CAPTURE(b);
        CAPTURE(w);
        const int idle = bubble(kDualPipe, p, m, times);
        const int formula = (p / 2 - 1) * (f + 2 * b - w);
        if (f == b) CHECK(idle == formula);
        CHECK(std::abs(idle - formula) <= (p / 2 - 1) * std::abs(f - b));
        if (p == 2) continue;
        CHECK(bubble(kDualPipe, p, m, times) ==
              bubble(PipelineOrder::dualpipe_v, p / 2, m / 2, times, 2));
      }
    }
  }
}

// README, "Pipeline Bubbles and Memory Usage": 2x parameters, PP + 1 activations.
TEST_CASE("DualPipe: stages hold activations of at most p + 1 microbatches") {
  for (const int p : {2, 4, 8, 16}) {
    int most = 0;
    for (int stage = 0; stage < p; ++stage)
      most = std::max(most, held({kDualPipe, p, 1, 4 * p}, stage));
    CAPTURE(p);
    CHECK(most <= p + 1);
    CHECK(most >= p);
  }
}

TEST_CASE("DualPipe of two stages, written out") {
  // half_rank 0 of 1: F0 F1, three times F B1 F1 B0 (the middle ranks leave the first pair apart),
  // B1 B0, and the last W. Microbatches 0 to 3 enter at stage 0, 4 to 7 at stage 1.
  const auto steps = pipeline_order({kDualPipe, 2, 1, 8, 0, true}, 0);
  const std::vector<PipelineStep> expected{
      {Work::forward, 0, 0},
      {Work::forward, 4, 1},
      {Work::forward, 1, 0, false, true},
      {Work::backward, 4, 1},
      {Work::forward, 5, 1, true, true},
      {Work::backward, 0, 0},
      {Work::forward, 2, 0, true, true},
      {Work::backward, 5, 1},
      {Work::forward, 6, 1, true, true},
      {Work::backward, 1, 0},
      {Work::forward, 3, 0, true, true},
      {Work::backward, 6, 1},
      {Work::forward, 7, 1, true, true},
      {Work::backward, 2, 0},
      {Work::backward, 7, 1},
      {Work::input_gradient, 3, 0},
      {Work::weight_gradient, 3, 0},
  };
  CHECK(steps == expected);
}

TEST_CASE("a DualPipe that cannot be says what would do") {
  const auto problem = [](int stages, int chunks, int microbatches) {
    return pipeline_problem({kDualPipe, stages, chunks, microbatches, 0}).value_or("");
  };
  CHECK(problem(4, 1, 8).empty());
  CHECK(problem(1, 1, 8) == "dualpipe needs at least 2 stages (pp)");
  CHECK(problem(3, 1, 8) ==
        "dualpipe pairs stages from both ends: pp is even, not 3; dualpipe-v may have any");
  CHECK(problem(4, 2, 8) ==
        "dualpipe has one chunk of each of two copies of the model a stage: vpp is 1, not 2");
  CHECK(problem(4, 1, 9) ==
        "dualpipe has as many microbatches from each end: an even number, not 9");
  CHECK(problem(4, 1, 6) == "dualpipe needs at least 2 pp = 8 microbatches, not 6");
}

}  // namespace
}  // namespace lockstep
