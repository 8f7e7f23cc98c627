#include <doctest/doctest.h>

#include "tests/strategies/step/numbers/numbers_harness.hpp"

// Replicas, sharded or not, against one device.
namespace lockstep::test {
namespace {

TEST_CASE("data parallelism and ZeRO compute what one device does") {
  for (const int zero : {0, 1, 2, 3}) {
    ParallelConfig parallel = layout(4);
    parallel.zero = zero;
    CAPTURE(zero);
    check(model_of(gpt()), parallel);
    parallel.shard_ranks = 2;
    check(model_of(gpt()), parallel);
    parallel.overlap = {Overlap::dp_gradients, Overlap::dp_parameters};
    check(model_of(llama()), parallel);
  }
}

TEST_CASE("ZeRO-1 computes what one device does with gradients summed whole on every rank") {
  for (const bool offload : {false, true}) {
    for (const int tp : {1, 2}) {
      CAPTURE(offload);
      CAPTURE(tp);
      ParallelConfig parallel = layout(4);
      parallel.zero = 1;
      parallel.scatter_gradients = false;
      parallel.tp = tp;
      parallel.sequence_parallel = tp > 1;  // gradients of norms are summed over tp as well
      parallel.state.offload = offload;
      check(model_of(gpt()), parallel);
      parallel.shard_ranks = 2;
      parallel.overlap = {Overlap::dp_gradients, Overlap::dp_parameters};
      check(model_of(llama()), parallel);
    }
  }
}

TEST_CASE("ZeRO-2 and -3 that reduce once a step compute what one device does") {
  struct Schedule {
    PipelineOrder order;
    int pp, vpp;
  };
  for (const int zero : {2, 3}) {
    for (const Schedule& schedule :
         {Schedule{PipelineOrder::none, 1, 1}, Schedule{PipelineOrder::one_f_one_b, 2, 1},
          Schedule{PipelineOrder::one_f_one_b, 4, 1}, Schedule{PipelineOrder::interleaved, 2, 2},
          Schedule{PipelineOrder::zb_h1, 2, 1}}) {
      for (const bool overlap : {false, true}) {
        for (const UpdateStart update : {UpdateStart::after_all, UpdateStart::by_bucket}) {
          CAPTURE(zero);
          CAPTURE(static_cast<int>(schedule.order));
          CAPTURE(overlap);
          ParallelConfig parallel = layout(2);
          parallel.pp = schedule.pp;
          parallel.vpp = schedule.vpp;
          parallel.schedule = schedule.order;
          parallel.zero = zero;
          parallel.update = update;
          parallel.reduce_gradients = GradientReduction::last_microbatch;
          if (overlap)
            parallel.overlap = {Overlap::dp_gradients, Overlap::dp_parameters, Overlap::hsdp};
          check(model_of(gpt()), parallel);
          parallel.shard_ranks = 1;
          parallel.tp = 2;
          parallel.sequence_parallel = true;
          check(model_of(llama()), parallel);
        }
      }
    }
  }
}

// Every replica normalises its own batch, as frameworks do. So the reference takes the replicas'
// batches one after the other, as microbatches of their own: the same samples in the same groups.
TEST_CASE("replicas of a ResNet compute what one device does with their batches in turn") {
  const ResNetConfig shape{.stages = {1, 1}, .width = 2, .image = 12, .classes = 5};
  const ModelConfig model{.name = "resnet", .shape = shape, .source = {}};
  for (const int zero : {0, 1, 2, 3}) {
    CAPTURE(zero);
    ParallelConfig parallel = layout(4);
    parallel.zero = zero;
    ParallelConfig alone = single_device(parallel);
    alone.micro_batch = parallel.micro_batch;
    CHECK(trouble(model, parallel, alone) == "");
  }
}

TEST_CASE("optimizers, with master copies, without and on the host, compute what one device does") {
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam}) {
    for (const bool master : {false, true}) {
      for (const bool offload : {false, true}) {
        for (const int zero : {0, 1, 2, 3}) {
          CAPTURE(static_cast<int>(optimizer));
          CAPTURE(master);
          CAPTURE(offload);
          CAPTURE(zero);
          TransformerConfig shape = gpt();
          shape.layers = 1;
          ParallelConfig parallel = layout(2);
          parallel.zero = zero;
          parallel.state.optimizer = optimizer;
          parallel.state.master = master;
          parallel.state.offload = offload;
          check(model_of(shape), parallel);
        }
      }
    }
  }
}

TEST_CASE("parameter servers and an averaging host compute what one device does") {
  for (const int servers : {1, 3}) {
    CAPTURE(servers);
    ParallelConfig parallel = layout(4);
    parallel.exchange = GradientExchange::parameter_server;
    parallel.servers = servers;
    check(model_of(gpt()), parallel);
    check(mlp(), parallel);
    parallel.overlap = {Overlap::dp_gradients};
    check(model_of(llama()), parallel);
  }
  ParallelConfig parallel = layout(4);
  parallel.exchange = GradientExchange::host_average;
  check(model_of(gpt()), parallel);
}

}  // namespace
}  // namespace lockstep::test
