#include "strategies/pipeline/pipeline_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>

#include "tests/strategies/pipeline/replayed_order.hpp"

namespace lockstep {
namespace {

using namespace lockstep::test;

constexpr std::initializer_list<PipelineOrder> kOneChunk{
    PipelineOrder::naive, PipelineOrder::gpipe, PipelineOrder::one_f_one_b, PipelineOrder::zb_h1,
    PipelineOrder::zb_h2, PipelineOrder::zb_1p, PipelineOrder::zb_2p};

constexpr std::initializer_list<PipelineOrder> kInV{
    PipelineOrder::zb_v, PipelineOrder::v_half, PipelineOrder::v_min, PipelineOrder::dualpipe_v};

/// Every (work, microbatch, chunk) exactly once; forward before backward before weight gradient.
void check_complete(const Pipeline& pipeline) {
  for (int stage = 0; stage < pipeline.stages; ++stage) {
    std::map<std::pair<int, int>, int> forward;
    std::map<std::pair<int, int>, int> input;
    std::map<std::pair<int, int>, int> weight;
    for (const PipelineStep& step : pipeline.of(stage)) {
      REQUIRE(step.chunk >= 0);
      REQUIRE(step.chunk < pipeline.chunks);
      REQUIRE(step.microbatch >= 0);
      REQUIRE(step.microbatch < pipeline.microbatches);
      const std::pair key{step.microbatch, step.chunk};
      const bool whole = step.work == Work::backward;
      if (step.work == Work::forward) REQUIRE(++forward[key] == 1);
      if (whole || step.work == Work::input_gradient) {
        REQUIRE(forward[key] == 1);
        REQUIRE(++input[key] == 1);
      }
      if (whole || step.work == Work::weight_gradient) {
        REQUIRE(input[key] == 1);
        REQUIRE(++weight[key] == 1);
      }
    }
    const auto all = static_cast<std::size_t>(pipeline.microbatches * pipeline.chunks);
    CHECK(forward.size() == all);
    CHECK(input.size() == all);
    CHECK(weight.size() == all);
  }
}

TEST_CASE("every order does all work once, and none waits for itself") {
  std::mt19937_64 random(20241);
  const auto draw = [&random](int least, int most) {
    return least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  for (int round = 0; round < 60; ++round) {
    const int stages = draw(1, 9);
    const int microbatches = draw(1, 30);
    const Times times{draw(1, 5), draw(1, 5), draw(1, 5)};
    CAPTURE(stages);
    CAPTURE(microbatches);
    for (const PipelineOrder order : kOneChunk) {
      CAPTURE(static_cast<int>(order));
      const Pipeline pipeline{order, stages, 1, microbatches};
      check_complete(pipeline);
      CHECK(Replay(pipeline, times).ended());
    }
    const Pipeline interleaved{PipelineOrder::interleaved, stages + 1, draw(2, 5),
                               (stages + 1) * draw(1, 4)};
    CAPTURE(interleaved.chunks);
    check_complete(interleaved);
    CHECK(Replay(interleaved, times).ended());
    for (const PipelineOrder order : kInV) {
      CAPTURE(static_cast<int>(order));
      const int fewest = order == PipelineOrder::dualpipe_v ? 2 * (stages + 1) : 1;
      const Pipeline v{order, stages + 1, 2, std::max(fewest, microbatches)};
      check_complete(v);
      CHECK(Replay(v, times).ended());
    }
  }
}

TEST_CASE(
    "groups of an interleaved order: every size that Megatron-Core takes ends, larger ones too") {
  for (const int p : {2, 3, 4}) {
    for (int m = p; m <= 4 * p + 1; ++m) {
      for (int group = p; group <= m; ++group) {
        for (const int v : {2, 3}) {
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(group);
          const Pipeline pipeline{PipelineOrder::interleaved, p, v, m, group};
          // schedules.py: the remainder is 0 or at least the number of stages.
          const bool taken = m % group == 0 || m % group >= p;
          CHECK(!pipeline_problem({pipeline.order, p, v, m, group}) == taken);
          if (!taken) continue;
          check_complete(pipeline);
          CHECK(Replay(pipeline, {2, 2, 1}).ended());
        }
      }
    }
  }
}

TEST_CASE("in a V: idle time of ZB-V is a sixth of 1F1B's, of V-Half half, of V-Min two thirds") {
  // Of Qi et al., arXiv 2405.15362: with F, B and W of one unit for each chunk 1F1B idles (p-1) 6.
  for (const int p : {2, 4, 8}) {
    for (const int m : {2 * p, 3 * p + 1, 8 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(bubble(PipelineOrder::zb_v, p, m, {}, 2) == p - 1);
      CHECK(bubble(PipelineOrder::v_half, p, m, {}, 2) <= 3 * (p - 1));
      CHECK(bubble(PipelineOrder::v_min, p, m, {}, 2) <= 4 * (p - 1));
      // DeepSeek: (p-1)(F&B + B - 3W) on p stages, 3 + 2 - 3.
      CHECK(bubble(PipelineOrder::dualpipe_v, p, m, {}, 2) == 2 * (p - 1));
    }
  }
}

TEST_CASE(
    "in a V: all stages hold as much as 1F1B's first, half or a third of it, and a few chunks") {
  for (const int p : {2, 4, 8, 12, 16}) {
    const int m = 4 * p;
    for (int stage = 0; stage < p; ++stage) {
      CAPTURE(p);
      CAPTURE(stage);
      // 1F1B's first stage: p microbatches of two chunks' size.
      CHECK(held({PipelineOrder::zb_v, p, 2, m}, stage) <= 2 * p);
      CHECK(held({PipelineOrder::v_half, p, 2, m}, stage) <= p + 3);
      CHECK(3 * held({PipelineOrder::v_min, p, 2, m}, stage) <= 2 * p + 8);
      // One microbatch more: deepseek-ai/DualPipe, README, PP + 1 of half a stage each.
      CHECK(held({PipelineOrder::dualpipe_v, p, 2, m}, stage) <= 2 * p + 1);
    }
  }
}

TEST_CASE("idle time of GPipe and 1F1B is (p-1)(tF + tB) with a whole backward pass tB") {
  const Times times{3, 4, 2};  // whole backward pass 6
  for (const int p : {1, 2, 4, 7}) {
    for (const int m : {p, p + 1, 3 * p}) {
      CHECK(bubble(PipelineOrder::gpipe, p, m, times) == (p - 1) * (3 + 6));
      CHECK(bubble(PipelineOrder::one_f_one_b, p, m, times) == (p - 1) * (3 + 6));
    }
  }
}

TEST_CASE("without a pipeline's overlap each microbatch costs (p-1)(tF + tB)") {
  CHECK(bubble(PipelineOrder::naive, 4, 1, {1, 1, 1}) == 3 * 3);
  CHECK(bubble(PipelineOrder::naive, 4, 5, {1, 1, 1}) == 5 * 3 * 3);
}

TEST_CASE("interleaving divides the idle time by the number of chunks") {
  // A chunk takes tF / v and tB / v; here 1 and 2 whatever v, so the idle time is (p-1)(1 + 2).
  for (const int p : {2, 4, 8}) {
    for (const int v : {2, 3, 5}) {
      for (const int groups : {1, 2, 5}) {
        CHECK(bubble(PipelineOrder::interleaved, p, groups * p, {1, 1, 1}, v) == (p - 1) * 3);
      }
    }
  }
}

TEST_CASE("idle time of ZB-H1 is (p-1)(tF + tB - tW), of ZB-H2 (p-1)(tF + tB - 2tW)") {
  for (const int p : {2, 4, 8}) {
    for (const int m : {2 * p, 3 * p + 1, 8 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(bubble(PipelineOrder::zb_h1, p, m) == (p - 1) * (1 + 1 - 1));
      CHECK(bubble(PipelineOrder::zb_h2, p, m) == (p - 1) * (1 + 1 - 2));
    }
  }
}

TEST_CASE("the heuristic is as good as the handcrafted orders with their memory") {
  for (const int p : {2, 4, 8}) {
    for (const int m : {2 * p, 3 * p + 1, 8 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(bubble(PipelineOrder::zb_1p, p, m) <= bubble(PipelineOrder::zb_h1, p, m));
      CHECK(bubble(PipelineOrder::zb_2p, p, m) <= bubble(PipelineOrder::zb_h2, p, m));
    }
  }
}

TEST_CASE("microbatches whose activations a stage holds") {
  for (const int p : {2, 4, 8}) {
    for (const int m : {1, p - 1, p, 4 * p}) {
      for (int stage = 0; stage < p; ++stage) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(stage);
        CHECK(held({PipelineOrder::naive, p, 1, m}, stage) == 1);
        CHECK(held({PipelineOrder::gpipe, p, 1, m}, stage) == m);
        CHECK(held({PipelineOrder::one_f_one_b, p, 1, m}, stage) == std::min(m, p - stage));
        // As the first stage of 1F1B, on every stage: later ones hold inputs of W instead.
        CHECK(held({PipelineOrder::zb_h1, p, 1, m}, stage) == std::min(m, p));
        CHECK(held({PipelineOrder::zb_1p, p, 1, m}, stage) <= std::min(m, p));
        CHECK(held({PipelineOrder::zb_h2, p, 1, m}, stage) == std::min(m, 2 * p - 1));
        CHECK(held({PipelineOrder::zb_2p, p, 1, m}, stage) <= std::min(m, 2 * p));
      }
    }
  }
}

TEST_CASE("interleaving's first stage holds p (1 + (p-1)/(p v)) microbatches' worth") {
  for (const int p : {2, 4, 8}) {
    for (const int v : {2, 3}) {
      // In chunks, of which v make a whole stage: p v + p - 1.
      CHECK(held({PipelineOrder::interleaved, p, v, 4 * p}, 0) == p * v + p - 1);
    }
  }
}

TEST_CASE("the interleaved order of two stages with two chunks, written out") {
  const Pipeline pipeline{PipelineOrder::interleaved, 2, 2, 2};
  // Stage 0 warms up with 2 (2-1-0) + (2-1) 2 = 4 chunks, which is all of them.
  const std::vector<PipelineStep> first{
      {Work::forward, 0, 0},  {Work::forward, 1, 0},  {Work::forward, 0, 1},
      {Work::forward, 1, 1},  {Work::backward, 0, 1}, {Work::backward, 1, 1},
      {Work::backward, 0, 0}, {Work::backward, 1, 0},
  };
  CHECK(pipeline.of(0) == first);
  const std::vector<PipelineStep> second{
      {Work::forward, 0, 0}, {Work::forward, 1, 0},  {Work::forward, 0, 1},  {Work::backward, 0, 1},
      {Work::forward, 1, 1}, {Work::backward, 1, 1}, {Work::backward, 0, 0}, {Work::backward, 1, 0},
  };
  CHECK(pipeline.of(1) == second);
}

/// Backward passes whose forward pass before them goes in turn with them.
int pairs_of(const std::vector<PipelineStep>& steps) {
  int out = 0;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (!steps[i].paired) continue;
    CHECK(steps[i].work == Work::forward);
    CHECK(steps[i + 1].work == Work::backward);
    CHECK(steps[i].microbatch != steps[i + 1].microbatch);
    ++out;
  }
  CHECK(!steps.back().paired);
  return out;
}

TEST_CASE("passes of different microbatches in pairs") {
  // One stage: F0, then F1 with B0, and so on, at last B alone.
  const auto alone = pipeline_order({PipelineOrder::none, 1, 1, 5, 0, true}, 0);
  CHECK(pairs_of(alone) == 4);
  CHECK(alone.size() == 10);
  // Interleaved: one more forward pass than without pairs before the first backward pass; all
  // forward passes after that are in pairs. 2 (p-1-i) + (v-1) p + 1 (Megatron-Core
  // pipeline_parallel/schedules.py).
  for (int stage = 0; stage < 4; ++stage) {
    const PipelineShape shape{PipelineOrder::interleaved, 4, 2, 8, 0, true};
    const auto steps = pipeline_order(shape, stage);
    const auto first = std::find_if(steps.begin(), steps.end(), [](const PipelineStep& of) {
      return of.work == Work::backward;
    });
    // The last of the passes before it is its pair.
    CHECK(first - steps.begin() == 2 * (3 - stage) + 4 + 1 + 1);
    CHECK(pairs_of(steps) == 16 - (2 * (3 - stage) + 4 + 1));
    CHECK(pairs_of(pipeline_order({PipelineOrder::interleaved, 4, 2, 8, 0, false}, stage)) == 0);
  }
  // Of 2 stages with 2 chunks and 2 microbatches the first has all 4 forward passes in its warm-up
  // of 5: its first backward pass waits for the second stage, which waits for the last of them.
  CHECK(pairs_of(pipeline_order({PipelineOrder::interleaved, 2, 2, 2, 0, true}, 0)) == 0);
  CHECK(pairs_of(pipeline_order({PipelineOrder::interleaved, 2, 2, 2, 0, true}, 1)) == 1);
  // DualPipeV, p stages, m microbatches: 2 (m - 2p + i + 1) of the main steps and p - 1 - i after
  // them; the last stage leaves out the first.
  for (int stage = 0; stage < 4; ++stage) {
    const auto steps = pipeline_order({PipelineOrder::dualpipe_v, 4, 2, 10, 0, true}, stage);
    CHECK(pairs_of(steps) == 2 * (10 - 8 + stage + 1) + (3 - stage) - (stage == 3 ? 1 : 0));
    auto without = pipeline_order({PipelineOrder::dualpipe_v, 4, 2, 10, 0, false}, stage);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      CHECK(steps[i].work == without[i].work);
      CHECK(steps[i].microbatch == without[i].microbatch);
    }
  }
}

TEST_CASE("one stage does not cut its backward pass in two") {
  const std::vector<PipelineStep> plain = Pipeline{PipelineOrder::none, 1, 1, 3}.of(0);
  for (const PipelineOrder order :
       {PipelineOrder::zb_h1, PipelineOrder::zb_h2, PipelineOrder::zb_1p, PipelineOrder::zb_2p}) {
    CHECK(Pipeline{order, 1, 1, 3}.of(0) == plain);
  }
}

TEST_CASE("a pipeline that cannot be says what would do") {
  const auto problem = [](PipelineOrder order, int stages, int chunks, int microbatches) {
    return pipeline_problem({order, stages, chunks, microbatches, 0}).value_or("");
  };
  CHECK(problem(PipelineOrder::one_f_one_b, 4, 1, 8).empty());
  CHECK(problem(PipelineOrder::none, 4, 1, 8) ==
        "4 stages need a schedule: naive, gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-1p, zb-2p, "
        "zb-v, v-half, v-min, dualpipe-v or dualpipe");
  CHECK(problem(PipelineOrder::gpipe, 4, 2, 8) ==
        "2 chunks a stage (vpp) need the schedule interleaved, or, if two, zb-v, v-half, v-min or "
        "dualpipe-v; others have 1");
  CHECK(problem(PipelineOrder::interleaved, 4, 1, 8) ==
        "interleaved needs at least 2 chunks a stage (vpp); with one the schedule is 1f1b");
  CHECK(problem(PipelineOrder::interleaved, 1, 2, 8) ==
        "interleaved needs at least 2 stages (pp); with one stage the schedule is none");
  CHECK(
      problem(PipelineOrder::interleaved, 4, 2, 10) ==
      "interleaved takes 10 microbatches in groups of 4: the last has 2, fewer than the 4 stages, "
      "which none may: microbatch_group = 5 would");
  CHECK(problem(PipelineOrder::interleaved, 4, 2, 3) ==
        "interleaved needs at least as many microbatches as stages, 4, not 3");
  CHECK(problem(PipelineOrder::v_half, 4, 3, 8) == "two chunks in a V: vpp is 2, not 3");
  CHECK(problem(PipelineOrder::dualpipe_v, 4, 2, 7) ==
        "dualpipe-v needs at least 2 pp = 8 microbatches, not 7");
  CHECK(problem(PipelineOrder::gpipe, 4, 1, 0) == "a pipeline needs at least one microbatch");
}

}  // namespace
}  // namespace lockstep
