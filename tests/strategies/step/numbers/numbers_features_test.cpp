#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/strategies/step/numbers/numbers_harness.hpp"

// What families of models differ in, each under every way of cutting a model, against one device.
namespace lockstep::test {
namespace {

using Change = std::function<void(TransformerConfig&)>;

/// What most families have not, by name: set in GPT where it is of layer norms, else in Llama.
std::vector<std::pair<std::string, Change>> features() {
  const auto window = [](AttentionWindow of) {
    return [of](TransformerConfig& shape) { shape.window = of; };
  };
  return {
      {"windows", window({.size = 3})},
      {"windows in every other layer", window({.size = 3, .full_every = 2})},
      {"windows in later layers", window({.size = 3, .first_layer = 2})},
      {"chunks", window({.size = 3, .chunked = true, .full_every = 4, .full_rotary = false})},
      {"packed documents",
       [](TransformerConfig& shape) {
         shape.documents = {3, 2};
       }},
      {"windows over packed documents",
       [](TransformerConfig& shape) {
         shape.window = AttentionWindow{.size = 2, .full_every = 2};
         shape.documents = {3, 1};
       }},
      {"sinks", [](TransformerConfig& shape) { shape.sinks = true; }},
      {"norms after", [](TransformerConfig& shape) { shape.norm_place = NormPlace::after; }},
      {"norms around", [](TransformerConfig& shape) { shape.norm_place = NormPlace::around; }},
      {"head norms, shared",
       [](TransformerConfig& shape) { shape.qk_norm = QueryKeyNorm::shared; }},
      {"head norms, own", [](TransformerConfig& shape) { shape.qk_norm = QueryKeyNorm::per_head; }},
      {"norms of all heads",
       [](TransformerConfig& shape) { shape.qk_norm = QueryKeyNorm::all_heads; }},
      {"side by side", [](TransformerConfig& shape) { shape.residual = Residual::parallel; }},
      {"side by side with two norms",
       [](TransformerConfig& shape) { shape.residual = Residual::parallel_two_norms; }},
      {"biases here and there",
       [](TransformerConfig& shape) {
         shape.bias = false;
         shape.out_bias = shape.mlp_bias = shape.head_bias = true;
       }},
      {"a norm behind the embedding",
       [](TransformerConfig& shape) { shape.embedding_norm = true; }},
      {"no output layer", [](TransformerConfig& shape) { shape.output_layer = false; }},
      {"dropout in attention alone",
       [](TransformerConfig& shape) { shape.attention_dropout = 0.2; }},
  };
}

ParallelConfig pipeline() {
  ParallelConfig out = layout(2);
  out.pp = 2;
  out.schedule = PipelineOrder::one_f_one_b;
  out.recompute = Recompute::full;
  return out;
}

/// One way of cutting each.
std::vector<ParallelConfig> layouts() {
  std::vector<ParallelConfig> out{layout(2), layout(), layout(2), pipeline()};
  out[0].zero = 3;
  out[1].tp = 4;  // more ranks than Llama's heads of keys and values
  out[2].tp = 2;
  out[2].sequence_parallel = true;
  out[2].recompute = Recompute::selective;
  return out;
}

TEST_CASE("features of families compute what one device does, however the model is cut") {
  for (const auto& [name, change] : features()) {
    CAPTURE(name);
    for (TransformerConfig shape : {gpt(), llama()}) {
      change(shape);
      for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
      check(model_of(shape), context(ContextKind::ulysses, 2, false));
    }
  }
}

// The embedding is read on the first and on the last stage, the output layer twice on the last.
TEST_CASE("multi-token prediction computes what one device does, however the model is cut") {
  for (const TransformerConfig& base : {gpt(), llama(), experts(llama())}) {
    for (const std::int64_t modules : {1, 2}) {
      CAPTURE(modules);
      TransformerConfig shape = base;
      shape.positions = Positions::rotary;
      shape.tied_embeddings = modules == 2;
      shape.mtp = TokenPrediction{.layers = modules, .loss_scaling_factor = 0.3};
      for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
      check(model_of(shape), context(ContextKind::ulysses, 2, false));
      check(model_of(shape), context(ContextKind::ring, 2, true));
      ParallelConfig sharded = pipeline();
      sharded.zero = 3;
      check(model_of(shape), sharded);
      ParallelConfig split = pipeline();
      split.recompute = Recompute::none;
      split.schedule = PipelineOrder::zb_h1;
      split.tp = 2;
      split.sequence_parallel = true;
      check(model_of(shape), split);
      if (!shape.experts) continue;
      ParallelConfig expert = layout(4);
      expert.ep = 2;
      expert.zero = 1;
      check(model_of(shape), expert);
    }
  }
}

TEST_CASE("windows, documents and the dropout of attention are the same where scores are stored") {
  for (TransformerConfig shape : {gpt(), llama()}) {
    shape.attention = AttentionKind::unfused;
    shape.attention_dropout = 0.2;
    shape.window = AttentionWindow{.size = 3, .full_every = 2};
    for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
    shape.documents = {5, 2};
    for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
  }
}

// As Llama 3 has it: keys and values gathered among ranks whose tokens are of several documents.
TEST_CASE("packed documents whose tokens are cut among ranks compute what one device does") {
  for (TransformerConfig shape : {gpt(), llama()}) {
    shape.documents = {3, 2};
    for (const bool zigzag : {false, true}) {
      for (const int cp : {2, 4})
        check(model_of(shape), context(ContextKind::all_gather, cp, zigzag));
      ParallelConfig parallel = context(ContextKind::all_gather, 2, zigzag);
      parallel.tp = 2;
      parallel.sequence_parallel = true;
      parallel.recompute = Recompute::full;
      check(model_of(shape), parallel);
    }
  }
}

TEST_CASE("packed documents in a ring compute what one device does, a rank only its blocks") {
  for (TransformerConfig shape : {gpt(), llama()}) {
    shape.documents = {3, 2};
    for (const bool zigzag : {false, true}) {
      for (const ContextKind kind : {ContextKind::ring, ContextKind::both}) {
        check(model_of(shape), context(kind, 4, zigzag));
        ParallelConfig parallel = context(kind, 2, zigzag);
        parallel.tp = 2;
        parallel.sequence_parallel = true;
        parallel.recompute = Recompute::full;
        check(model_of(shape), parallel);
      }
    }
  }
}

// Two microbatches of two sequences for each replica: all have documents of their own.
TEST_CASE("documents that differ between sequences compute what one device does") {
  for (TransformerConfig shape : {gpt(), llama()}) {
    for (const bool drawn : {false, true}) {
      shape.packed = {};
      if (drawn) {
        shape.packed.drawn = DocumentDraw{DocumentDraw::Kind::lognormal, 1, 1, 3, 1, 7};
      } else {
        shape.packed.lists = {{3, 2}, {8}, {1}, {5, 1}, {2, 4}};
      }
      for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
      check(model_of(shape), layout(4));
      for (const bool zigzag : {false, true}) {
        for (const ContextKind kind : {ContextKind::ring, ContextKind::both, ContextKind::ulysses,
                                       ContextKind::all_gather}) {
          ParallelConfig parallel = context(kind, 2, zigzag);
          parallel.dp = 2;
          parallel.global_batch *= 2;
          check(model_of(shape), parallel);
        }
      }
    }
    shape.attention_dropout = 0.2;
    check(model_of(shape), layout(2));
    shape.attention = AttentionKind::unfused;
    for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
  }
}

TEST_CASE("experts with biases of theirs and of the router compute what one device does") {
  TransformerConfig shape = experts(llama());
  shape.mlp_bias = shape.router_bias = true;
  shape.window = AttentionWindow{.size = 3, .full_every = 2};
  shape.experts->every = 2;  // four kinds of layers
  for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
  ParallelConfig expert = layout(4);
  expert.ep = 4;
  check(model_of(shape), expert);
}

TEST_CASE("activations of families compute what one device does") {
  TransformerConfig shape = llama();
  shape.function = ActivationFunction::geglu;
  TransformerConfig plain = gpt();
  plain.function = ActivationFunction::squared_relu;
  for (const ParallelConfig& parallel : layouts()) {
    check(model_of(shape), parallel);
    check(model_of(plain), parallel);
  }
}

TEST_CASE("a table with more positions than tokens computes what one device does") {
  TransformerConfig shape = gpt();
  shape.position_rows = shape.sequence + 2;
  for (const ParallelConfig& parallel : layouts()) check(model_of(shape), parallel);
}

}  // namespace
}  // namespace lockstep::test
