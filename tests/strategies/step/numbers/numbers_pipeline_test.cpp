#include <doctest/doctest.h>

#include "tests/strategies/step/numbers/numbers_harness.hpp"

// Pipelines against one device.
namespace lockstep::test {
namespace {

TEST_CASE("pipelines compute what one device does") {
  for (const PipelineOrder order :
       {PipelineOrder::naive, PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
        PipelineOrder::interleaved, PipelineOrder::zb_h1, PipelineOrder::zb_h2,
        PipelineOrder::zb_1p, PipelineOrder::zb_2p}) {
    CAPTURE(static_cast<int>(order));
    ParallelConfig parallel = layout();
    parallel.pp = 2;
    parallel.schedule = order;
    parallel.vpp = order == PipelineOrder::interleaved ? 2 : 1;
    parallel.global_batch = 8;
    check(model_of(gpt()), parallel);
    parallel.tp = 2;
    check(model_of(llama()), parallel);
  }
}

// NCCL keeps few messages on a connection; the simulator keeps any number of them.
TEST_CASE("pipelines need room for one message on a connection") {
  TransformerConfig shape = gpt();
  shape.layers = 8;
  shape.hidden = 8;
  for (const PipelineOrder order :
       {PipelineOrder::naive, PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
        PipelineOrder::interleaved, PipelineOrder::zb_h1, PipelineOrder::zb_h2,
        PipelineOrder::zb_1p, PipelineOrder::zb_2p}) {
    for (const bool overlap : {false, true}) {
      CAPTURE(static_cast<int>(order));
      CAPTURE(overlap);
      ParallelConfig parallel = layout();
      parallel.micro_batch = 1;
      parallel.pp = 4;
      parallel.schedule = order;
      parallel.vpp = order == PipelineOrder::interleaved ? 2 : 1;
      parallel.global_batch = 8;
      if (overlap) parallel.overlap = {Overlap::pp};
      check(model_of(shape), parallel, 7);
    }
  }
}

TEST_CASE("ResNets in a pipeline compute what one device does") {
  ResNetConfig shape{.stages = {1, 2}, .width = 2, .image = 12, .classes = 5};
  ParallelConfig parallel = layout();
  parallel.pp = 3;
  parallel.schedule = PipelineOrder::one_f_one_b;
  check({.name = "resnet", .shape = shape, .source = {}}, parallel);
  shape.frames = 2;
  shape.temporal_shift = true;
  parallel.recompute = Recompute::full;
  check({.name = "tsm", .shape = shape, .source = {}}, parallel);
}

}  // namespace
}  // namespace lockstep::test
