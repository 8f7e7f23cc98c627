#include <doctest/doctest.h>

#include <string>
#include <vector>

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

TEST_CASE("what an encoder and a decoder cannot be cut by is said") {
  const ModelConfig model = model_of(t5());
  ParallelConfig parallel = layout();
  parallel.pp = 2;
  parallel.schedule = PipelineOrder::one_f_one_b;
  CHECK(trouble(model, parallel, single_device(parallel)) ==
        "pp = 2, but encoder and decoder are not cut into stages");
  parallel = context(ContextKind::ring, 2, false);
  CHECK(trouble(model, parallel, single_device(parallel)) ==
        "cp = 2, but attention of a decoder to an encoder is not cut");
}

}  // namespace
}  // namespace lockstep::test
