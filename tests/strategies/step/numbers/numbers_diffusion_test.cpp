#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "strategies/pipeline/pipeline_order.hpp"
#include "tests/strategies/step/numbers/numbers_harness.hpp"

// Diffusion transformers under every way of cutting a model that they have, against one device.
namespace lockstep::test {
namespace {

/// 16 patches of 2 x 2 latents, three values each.
TransformerConfig dit() {
  TransformerConfig out = gpt();
  out.kv_heads = out.heads;
  out.causal = false;
  out.norm_gain = false;
  out.positions = Positions::none;
  out.image = ImageInput{.side = 8, .patch = 2, .channels = 3, .class_token = false};
  out.sequence = out.image->tokens();
  out.diffusion = DiffusionTransformer{.frequencies = 6};
  return out;
}

std::vector<ParallelConfig> layouts() {
  std::vector<ParallelConfig> out{layout(),  layout(2), layout(2), layout(2), layout(2), layout(),
                                  layout(2), layout(2), layout(),  layout(),  layout(2)};
  out[2].zero = 1;
  out[3].zero = 2;
  out[4].zero = 3;
  out[5].tp = 4;
  out[6].tp = 2;
  out[6].sequence_parallel = true;
  out[7].tp = 2;
  out[7].recompute = Recompute::full;
  out[8].recompute = Recompute::selective;
  out[9].recompute = Recompute::every_second_layer;
  out[10].tp = 2;
  out[10].zero = 3;
  out[10].sequence_parallel = true;
  out[10].recompute = Recompute::full;
  return out;
}

TEST_CASE("diffusion transformers compute what one device does, however they are cut") {
  for (const AttentionKind attention : {AttentionKind::flash, AttentionKind::unfused}) {
    for (const bool variance : {true, false}) {
      TransformerConfig shape = dit();
      shape.attention = attention;
      shape.diffusion->learned_variance = variance;
      for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
    }
  }
}

TEST_CASE(
    "a diffusion transformer with operands kept as cast, Muon, parameter servers and buckets") {
  check_software(model_of(dit()), layouts());
}

// What scales and shifts a sequence gets a part of its gradient from every rank that has a part.
TEST_CASE("latents cut along the sequence compute what one device does") {
  const ModelConfig model = model_of(dit());
  for (const ContextKind kind :
       {ContextKind::ring, ContextKind::ulysses, ContextKind::all_gather}) {
    check(model, context(kind, 2, false));
    check(model, context(kind, 4, false));
  }
  check(model, context(ContextKind::both, 4, false));
  ParallelConfig both = context(ContextKind::ring, 2, false);
  both.tp = 2;
  both.sequence_parallel = true;
  check(model, both);
  both.zero = 3;
  both.recompute = Recompute::full;
  check(model, both);
}

TEST_CASE("a layer of a diffusion transformer alone computes what one device does") {
  TransformerConfig shape = dit();
  shape.layers = 1;
  for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
}

// The conditions and the sum so far of their gradient travel with the residual stream.
TEST_CASE("stages of a diffusion transformer compute what one device does") {
  const ModelConfig model = model_of(dit());
  for (const PipelineOrder order :
       {PipelineOrder::naive, PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
        PipelineOrder::interleaved, PipelineOrder::zb_h1, PipelineOrder::zb_h2,
        PipelineOrder::zb_1p, PipelineOrder::zb_2p, PipelineOrder::zb_v, PipelineOrder::v_half,
        PipelineOrder::v_min, PipelineOrder::dualpipe_v, PipelineOrder::dualpipe}) {
    for (const bool overlap : {false, true}) {
      CAPTURE(static_cast<int>(order));
      ParallelConfig parallel = layout();
      parallel.pp = 2;
      parallel.schedule = order;
      parallel.vpp = order == PipelineOrder::interleaved || is_v(order) ? 2 : 1;
      parallel.global_batch = 8;
      if (overlap) parallel.overlap = {Overlap::pp};
      check(model, parallel, 7);
      parallel.tp = 2;
      parallel.sequence_parallel = overlap;
      check(model, parallel);
    }
  }
}

TEST_CASE("many stages of a diffusion transformer, sharded and with layers done again") {
  TransformerConfig shape = dit();
  shape.layers = 8;
  for (const int zero : {0, 1, 3}) {
    for (const Recompute how : {Recompute::none, Recompute::full}) {
      ParallelConfig parallel = layout(2);
      parallel.pp = 4;
      parallel.schedule = PipelineOrder::one_f_one_b;
      parallel.zero = zero;
      parallel.recompute = how;
      parallel.global_batch = 16;
      check(model_of(shape), parallel);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
