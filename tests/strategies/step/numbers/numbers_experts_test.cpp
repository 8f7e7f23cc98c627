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

/// Pairs of microbatches on one stage, or on two with two chunks, with gradients of weights put
/// off.
std::vector<ParallelConfig> delayed_layouts() {
  std::vector<ParallelConfig> out;
  for (const int pp : {1, 2}) {
    ParallelConfig parallel = layout(2);
    parallel.ep = 2;
    parallel.pp = pp;
    parallel.global_batch = 16;
    parallel.overlap = {Overlap::ep_pairs};
    parallel.delay_wgrad_compute = true;
    if (pp > 1) {
      parallel.vpp = 2;
      parallel.schedule = PipelineOrder::interleaved;
    }
    out.push_back(parallel);
    out.push_back(parallel);
    out.back().tp = 2;
    out.back().sequence_parallel = true;
    out.back().overlap.insert(pp > 1 ? Overlap::tp_backward : Overlap::tp);
    out.push_back(out.back());
    out.back().etp = 1;
    out.back().dispatcher = Dispatcher::deepep;
    out.back().form.router_weights = RouterWeights::activation;
  }
  return out;
}

TEST_CASE("gradients of weights that are put off until tokens travel are those of one device") {
  for (TransformerConfig shape : {experts(gpt()), experts(llama())}) {
    for (const ParallelConfig& parallel : delayed_layouts()) {
      if (shape.bias && parallel.dispatcher == Dispatcher::deepep) continue;
      for (const int zero : {0, 1, 2}) {
        CAPTURE(zero);
        ParallelConfig sharded = parallel;
        sharded.zero = zero;
        if (zero > 0) sharded.overlap.insert({Overlap::dp_gradients, Overlap::pp});
        if (zero == 2) sharded.reduce_gradients = GradientReduction::every_microbatch;
        check(model_of(shape), sharded, 5);
        sharded.recompute = Recompute::selective;
        sharded.recompute_modules = {RecomputeModule::layernorm, RecomputeModule::moe_act};
        check(model_of(shape), sharded);
      }
    }
  }
}

TEST_CASE("so they are in latent attention and in layers of multi-token prediction") {
  TransformerConfig shape = experts(llama());
  shape.mtp = TokenPrediction{.layers = 2, .loss_scaling_factor = 0.3};
  for (const ParallelConfig& parallel : delayed_layouts()) {
    check(model_of(shape), parallel, 3);
    check_software(model_of(experts(llama())), {parallel});
  }
}

}  // namespace
}  // namespace lockstep::test
