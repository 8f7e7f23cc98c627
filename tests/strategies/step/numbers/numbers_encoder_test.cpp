#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "strategies/pipeline/pipeline_order.hpp"
#include "tests/strategies/step/numbers/numbers_harness.hpp"

// An encoder and a decoder under every way of cutting a model that they have, against one device.
namespace lockstep::test {
namespace {

/// As T5: 16 tokens of input, 8 of targets.
TransformerConfig t5() {
  TransformerConfig out = gpt();
  out.layers = 3;
  out.kv_heads = out.heads;
  out.sequence = 8;
  out.bias = false;
  out.norm = Normalization::rms;
  out.function = ActivationFunction::relu;
  out.positions = Positions::none;
  out.attention = AttentionKind::unfused;
  out.tied_embeddings = true;
  out.encoder = EncoderStack{.layers = 2, .sequence = 16, .buckets = 8};
  return out;
}

std::vector<ParallelConfig> layouts() {
  std::vector<ParallelConfig> out{layout(),  layout(2), layout(2), layout(2), layout(), layout(2),
                                  layout(2), layout(),  layout(),  layout(2), layout(2)};
  out[2].zero = 1;
  out[3].zero = 2;
  out[4].tp = 4;
  out[5].tp = 2;
  out[5].sequence_parallel = true;
  out[6].tp = 2;
  out[6].recompute = Recompute::full;
  out[7].recompute = Recompute::selective;
  out[8].recompute = Recompute::every_second_layer;
  out[9].zero = out[10].zero = 3;
  out[10].reshard_after_forward = true;
  out[10].recompute = Recompute::full;
  return out;
}

TEST_CASE("an encoder and a decoder compute what one device does, however they are cut") {
  for (const double dropout : {0.0, 0.2}) {
    for (const bool tied : {true, false}) {
      TransformerConfig shape = t5();
      shape.dropout = dropout;
      shape.tied_embeddings = tied;
      for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
    }
  }
}

TEST_CASE(
    "an encoder and a decoder with operands kept as cast, Muon, parameter servers and buckets") {
  check_software(model_of(t5()), layouts());
}

TEST_CASE("gated MLPs, one layer per stack and more of the encoder compute what one device does") {
  TransformerConfig shape = t5();
  shape.gated = true;
  shape.function = ActivationFunction::geglu;
  for (const std::int64_t layers : {1, 4}) {
    shape.encoder->layers = layers;
    shape.layers = 1;
    for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
  }
}

// Two stages have three and two layers, or parts of the encoder's or the decoder's; the encoder's
// result and the sum so far of its gradient travel with the decoder's residual stream.
TEST_CASE("stages of an encoder and a decoder compute what one device does") {
  TransformerConfig shape = t5();
  shape.encoder->layers = 3;
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
      if (parallel.vpp == 2) parallel.stages = {1, 3, 1, 1};
      parallel.global_batch = 8;
      if (overlap) parallel.overlap = {Overlap::pp};
      shape.tied_embeddings = overlap;
      check(model_of(shape), parallel, 7);
      parallel.tp = 2;
      parallel.sequence_parallel = overlap;
      check(model_of(shape), parallel);
    }
  }
}

TEST_CASE("layers of an encoder and a decoder are on any stages") {
  const ModelConfig model = model_of(t5());  // 2 and 3 layers
  const std::vector<std::vector<int>> all{{2, 0, 0, 3}, {0, 1, 1, 3}, {1, 2, 1, 1}, {2, 1, 1, 1},
                                          {1, 1, 3, 0}, {5, 0, 0, 0}, {0, 0, 0, 5}, {2, 0, 3, 0}};
  for (const std::vector<int>& stages : all) {
    for (const PipelineOrder order :
         {PipelineOrder::gpipe, PipelineOrder::one_f_one_b, PipelineOrder::dualpipe}) {
      CAPTURE(static_cast<int>(order));
      ParallelConfig parallel = layout();
      parallel.pp = 4;
      parallel.stages = stages;
      parallel.schedule = order;
      parallel.global_batch = 16;
      check(model, parallel);
    }
  }
}

TEST_CASE("many stages of an encoder and a decoder, sharded and with layers done again") {
  TransformerConfig shape = t5();
  shape.encoder->layers = 5;
  for (const int zero : {0, 1, 2, 3}) {
    for (const Recompute how : {Recompute::none, Recompute::full}) {
      for (const PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::dualpipe}) {
        for (const auto reduces :
             {GradientReduction::last_microbatch, GradientReduction::every_microbatch}) {
          if (zero < 2 && reduces == GradientReduction::every_microbatch) continue;
          CAPTURE(zero);
          ParallelConfig parallel = layout(2);
          parallel.pp = 4;
          parallel.schedule = order;
          parallel.zero = zero;
          parallel.recompute = how;
          parallel.reduce_gradients = reduces;
          parallel.global_batch = 32;
          check(model_of(shape), parallel);
        }
      }
    }
  }
}

TEST_CASE("stages of an encoder and a decoder with operands kept as cast and with Muon") {
  TransformerConfig shape = t5();
  shape.encoder->layers = 3;
  ParallelConfig parallel = layout();
  parallel.pp = 2;
  parallel.schedule = PipelineOrder::one_f_one_b;
  ParallelConfig sharded = parallel;
  sharded.dp = 2;
  sharded.zero = 1;
  sharded.global_batch *= 2;
  check_software(model_of(shape), {parallel, sharded});
}

/// Tokens cut among ranks: of 2 and 4, in tensor groups, in sequence parallelism, and with all of
/// it sharded and done again.
void check_contexts(const ModelConfig& model, ContextKind kind, bool zigzag) {
  for (const int cp : {2, 4}) check(model, context(kind, cp, zigzag));
  ParallelConfig parallel = context(kind, 2, zigzag);
  parallel.tp = 2;
  check(model, parallel);
  parallel.sequence_parallel = true;
  check(model, parallel);
  parallel.zero = 3;
  parallel.recompute = Recompute::full;
  check(model, parallel);
}

/// In two replicas with sharded optimizer states, communication beside computation, and parts done
/// again.
void check_replicas(const ModelConfig& model, ParallelConfig parallel) {
  parallel.sequence_parallel = true;
  parallel.dp = 2;
  parallel.global_batch *= 2;
  parallel.zero = 1;
  parallel.overlap = {Overlap::cp};
  for (const Recompute again : {Recompute::selective, Recompute::every_second_layer}) {
    parallel.recompute = again;
    check(model, parallel);
  }
}

TransformerConfig deeper_t5() {
  TransformerConfig out = t5();
  out.encoder->layers = 3;
  return out;
}

/// Two stages, of which each has a part of either stack in a V.
void check_stages(ContextKind kind, const std::vector<PipelineOrder>& orders) {
  for (const PipelineOrder order : orders) {
    ParallelConfig parallel = context(kind, 2, true);
    parallel.pp = 2;
    parallel.schedule = order;
    if (order == PipelineOrder::zb_v) {
      parallel.vpp = 2;
      parallel.stages = {1, 2, 1, 2};
    }
    parallel.global_batch *= 2;
    check(model_of(deeper_t5()), parallel);
  }
}

// Heads are exchanged for tokens before each attention, in three sequences: those of both stacks
// and, of keys and values for the decoder, the encoder's again.
TEST_CASE("tokens of an encoder and a decoder cut among ranks compute what one device does") {
  for (const double dropout : {0.0, 0.2}) {
    TransformerConfig shape = t5();
    shape.dropout = dropout;
    const ModelConfig model = model_of(shape);
    check_contexts(model, ContextKind::ulysses, true);
    ParallelConfig parallel = context(ContextKind::ulysses, 2, true);
    parallel.recompute = Recompute::selective;
    parallel.overlap = {Overlap::cp};
    check(model, parallel);
  }
}

TEST_CASE("stages of an encoder and a decoder whose tokens are cut among ranks") {
  check_stages(ContextKind::ulysses, {PipelineOrder::one_f_one_b, PipelineOrder::zb_v});
}

// Keys and values are gathered for each attention: those of both stacks, and those that the
// decoder makes of the encoder's result.
TEST_CASE("an encoder and a decoder with gathered keys and values compute what one device does") {
  for (const bool zigzag : {true, false}) {
    for (const double dropout : {0.0, 0.2}) {
      CAPTURE(zigzag);
      TransformerConfig shape = t5();
      shape.dropout = dropout;
      const ModelConfig model = model_of(shape);
      check_contexts(model, ContextKind::all_gather, zigzag);
      check_replicas(model, context(ContextKind::all_gather, 2, zigzag));
    }
  }
}

TEST_CASE("so they do in stages, with operands kept as cast, and with Muon") {
  check_stages(ContextKind::all_gather,
               {PipelineOrder::one_f_one_b, PipelineOrder::zb_v, PipelineOrder::dualpipe});
  check_software(model_of(deeper_t5()), {context(ContextKind::all_gather, 2, true)});
}

// Keys pass along a ring for scores of whole rows, and values for what follows.
TEST_CASE("an encoder and a decoder whose keys and values travel compute what one device does") {
  for (const ContextKind kind : {ContextKind::ring, ContextKind::both}) {
    for (const bool zigzag : {true, false}) {
      for (const double dropout : {0.0, 0.2}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(zigzag);
        TransformerConfig shape = t5();
        shape.dropout = dropout;
        const ModelConfig model = model_of(shape);
        check_contexts(model, kind, zigzag);
        ParallelConfig parallel = context(kind, 4, zigzag);
        if (kind == ContextKind::both) parallel.ulysses = 2;
        check(model, parallel);
        check_replicas(model, parallel);
      }
    }
  }
}

TEST_CASE("so they do in a ring, in stages, with operands kept as cast, and with Muon") {
  check_stages(ContextKind::ring,
               {PipelineOrder::one_f_one_b, PipelineOrder::zb_v, PipelineOrder::dualpipe});
  check_software(model_of(deeper_t5()), {context(ContextKind::ring, 4, true)});
}

}  // namespace
}  // namespace lockstep::test
