#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/strategies/step/numbers/numbers_harness.hpp"

// Vision transformers under every way of cutting a model, against one device.
namespace lockstep::test {
namespace {

/// 16 patches of 2 x 2 pixels, and a class token before them or their mean.
TransformerConfig vit(bool class_token) {
  TransformerConfig out = gpt();
  out.causal = false;
  out.head_bias = true;
  out.image = ImageInput{.side = 8, .patch = 2, .channels = 3, .class_token = class_token};
  out.sequence = out.image->tokens();
  return out;
}

ParallelConfig pipeline(int dp) {
  ParallelConfig out = layout(dp);
  out.pp = 2;
  out.schedule = PipelineOrder::one_f_one_b;
  return out;
}

/// What does not cut the sequence.
std::vector<ParallelConfig> layouts() {
  std::vector<ParallelConfig> out{layout(2), layout(2), layout(2),   layout(2),
                                  layout(),  layout(2), pipeline(1), pipeline(2)};
  out[1].zero = 1;
  out[2].zero = 2;
  out[3].zero = 3;
  out[4].tp = 4;
  out[5].tp = 2;
  out[5].recompute = Recompute::full;
  out[6].recompute = Recompute::full;
  out[7].tp = 2;
  out[7].schedule = PipelineOrder::zb_h1;
  return out;
}

TEST_CASE("vision transformers compute what one device does, however the model is cut") {
  for (const bool class_token : {true, false}) {
    for (const double dropout : {0.0, 0.2}) {
      for (const AttentionKind attention : {AttentionKind::flash, AttentionKind::unfused}) {
        TransformerConfig shape = vit(class_token);
        shape.dropout = dropout;
        shape.attention = attention;
        for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
      }
    }
  }
}

TEST_CASE("a vision transformer with operands kept as cast, Muon, parameter servers and buckets") {
  check_software(model_of(vit(true)), layouts());
}

// Every rank has some of the patches; the mean needs all.
TEST_CASE("patches cut along the sequence compute what one device does") {
  const ModelConfig model = model_of(vit(false));
  ParallelConfig parallel = layout(2);
  parallel.tp = 2;
  parallel.sequence_parallel = true;
  check(model, parallel);
  parallel.tp = 4;
  parallel.recompute = Recompute::selective;
  check(model, parallel);
  ParallelConfig deep = pipeline(2);
  deep.tp = 2;
  deep.sequence_parallel = true;
  check(model, deep);
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
}

// Its 17 tokens are never cut, which nobody asks for by a layout that divides them either.
TEST_CASE("a class token is not cut from its patches") {
  ParallelConfig parallel = layout();
  parallel.tp = 2;
  parallel.sequence_parallel = true;
  const std::string why =
      "the class token and its patches are not cut; model.pooling \"mean\" has no such token";
  CHECK(trouble(model_of(vit(true)), parallel, single_device(parallel)) == why);
  parallel = context(ContextKind::ring, 17, false);
  CHECK(trouble(model_of(vit(true)), parallel, single_device(parallel)) == "cp = 17: " + why);
}

}  // namespace
}  // namespace lockstep::test
