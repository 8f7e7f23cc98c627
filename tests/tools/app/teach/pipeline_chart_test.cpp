#include "tools/app/teach/pipeline_chart.hpp"

#include <doctest/doctest.h>

#include "tools/app/errors.hpp"

/// Pipelines of equal stages with given times.
namespace lockstep::app {

namespace {

using namespace literals;

PipelineChartRequest pipeline(PipelineOrder order, int stages, int microbatches, int chunks = 1) {
  PipelineChartRequest out;
  out.order = order;
  out.stages = stages;
  out.microbatches = microbatches;
  out.chunks = chunks;
  out.forward = out.backward = out.weight = 12_us;
  return out;
}

}  // namespace

TEST_CASE("bubbles are those of the formulas") {
  // bubble_formula() of step_limits.hpp, which names their sources.
  for (const int stages : {2, 4, 7})
    for (const int times : {1, 2, 5})
      for (const PipelineOrder order :
           {PipelineOrder::naive, PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
            PipelineOrder::interleaved, PipelineOrder::zb_h1, PipelineOrder::zb_1p}) {
        // The formula of zb-h1 and zb-1p holds from 2p - 1 microbatches on.
        const bool split = order == PipelineOrder::zb_h1 || order == PipelineOrder::zb_1p;
        const int microbatches = stages * (split ? times + 1 : times);
        const int chunks = order == PipelineOrder::interleaved ? 3 : 1;
        const PipelineChart chart = chart_pipeline(pipeline(order, stages, microbatches, chunks));
        CAPTURE(stages);
        CAPTURE(microbatches);
        CAPTURE(static_cast<int>(order));
        REQUIRE(chart.formula);
        CHECK(chart.ideal == microbatches * 36_us);
        CHECK(chart.bubble == doctest::Approx(chart.formula->fraction).epsilon(1e-12));
      }
}

TEST_CASE("DualPipe: microbatches enter at both ends, and the bubble is that of the formula") {
  // Two chunks of a whole stage each, each for half of the microbatches.
  for (const int stages : {2, 4, 8}) {
    const PipelineChart chart =
        chart_pipeline(pipeline(PipelineOrder::dualpipe, stages, 3 * stages));
    REQUIRE(chart.formula);
    CHECK(chart.ideal == 3 * stages * 36_us);
    CHECK(chart.bubble == doctest::Approx(chart.formula->fraction).epsilon(1e-12));
    for (const PipelineStage& stage : {chart.stages.front(), chart.stages.back()})
      CHECK(stage.spans.front().start == TimePoint{});
  }
}

// Qi et al., arXiv 2405.15362: a sixth of 1F1B's bubble, at most half and two thirds of it.
TEST_CASE("in a V: bubbles are those of the formulas, or at most those") {
  for (const int stages : {2, 4, 8})
    for (const PipelineOrder order : {PipelineOrder::zb_v, PipelineOrder::dualpipe_v,
                                      PipelineOrder::v_half, PipelineOrder::v_min}) {
      CAPTURE(stages);
      CAPTURE(static_cast<int>(order));
      const PipelineChart chart = chart_pipeline(pipeline(order, stages, 3 * stages, 2));
      REQUIRE(chart.formula);
      const bool exact = order == PipelineOrder::zb_v || order == PipelineOrder::dualpipe_v;
      CHECK(chart.formula->text.starts_with("at most") != exact);
      CHECK(chart.bubble <= chart.formula->fraction + 1e-12);
      CHECK((!exact || chart.bubble == doctest::Approx(chart.formula->fraction).epsilon(1e-12)));
    }
}

TEST_CASE("a stage holds activations from the forward pass to the end of the backward pass") {
  const auto most = [](PipelineOrder order) {
    return chart_pipeline(pipeline(order, 4, 8)).stages.front().most_held;
  };
  CHECK(most(PipelineOrder::naive) == 1);
  CHECK(most(PipelineOrder::gpipe) == 8);        // all microbatches
  CHECK(most(PipelineOrder::one_f_one_b) == 4);  // as many as stages
  CHECK(most(PipelineOrder::zb_h1) == 4);        // the same, by design
  CHECK(most(PipelineOrder::zb_h2) == 7);        // 2p - 1
  const PipelineChart chart = chart_pipeline(pipeline(PipelineOrder::one_f_one_b, 4, 8));
  CHECK(chart.stages.back().most_held == 1);
  for (const PipelineStage& stage : chart.stages) CHECK(stage.held.back().chunks == 0);
}

TEST_CASE("sends delay what waits for them") {
  // Two stages, one microbatch: F, send, F, B, send, B, with B of both gradients.
  PipelineChartRequest request = pipeline(PipelineOrder::one_f_one_b, 2, 1);
  request.send = 5_us;
  const PipelineChart chart = chart_pipeline(request);
  CHECK(chart.step == 12_us + 5_us + 12_us + 24_us + 5_us + 24_us);
  CHECK(chart.stages[1].spans.front().start.since_start() == 17_us);
}

TEST_CASE("impossible pipelines are refused with what is possible") {
  CHECK_THROWS_AS((void)chart_pipeline(pipeline(PipelineOrder::interleaved, 4, 6, 2)),
                  RequestError);
  CHECK_THROWS_AS((void)chart_pipeline(pipeline(PipelineOrder::gpipe, 4, 8, 2)), RequestError);
}

}  // namespace lockstep::app
