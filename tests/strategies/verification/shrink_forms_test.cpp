#include <doctest/doctest.h>

#include "tests/strategies/verification/shrink_harness.hpp"

// Forms that no shipped scenario has.
namespace lockstep {
namespace {

using test::four_ways;
using test::model_of;

TEST_CASE("a pipeline of uneven stages stays uneven, with empty ones if there were") {
  const ModelConfig model = model_of("gpt3-175b");
  ParallelConfig parallel = four_ways();
  for (const auto& stages : std::vector<std::vector<int>>{
           {24, 24, 24, 24}, {25, 24, 24, 23}, {0, 48, 48, 0}, {32, 32, 32, 0}, {95, 0, 0, 1}}) {
    CAPTURE(stages.front());
    parallel.stages = stages;
    CHECK(test::trouble_shrinking(model, parallel, 8) == "");
  }
  ParallelConfig deep;
  deep.pp = 12;
  deep.vpp = 2;
  deep.schedule = PipelineOrder::interleaved;
  deep.global_batch = 24;
  deep.stages = std::vector<int>(24, 4);
  deep.stages[7] = 0;
  deep.stages[11] = 8;
  CHECK(test::trouble_shrinking(model, deep, 8) == "");
}

TEST_CASE("pipelines of MLPs and ResNets shrink to as many parts as the stages want") {
  ParallelConfig parallel;
  parallel.pp = 8;
  parallel.dp = 8;
  parallel.global_batch = 512;
  parallel.schedule = PipelineOrder::zb_h1;
  CHECK(test::trouble_shrinking(model_of("resnet-50"), parallel, 8) == "");
  MlpConfig mlp{.hidden = 512, .ffn = 1024, .layers = 30};
  parallel.short_edges = true;
  parallel.tp = 8;
  CHECK(test::trouble_shrinking({.name = "mlp", .shape = mlp, .source = {}}, parallel, 8) == "");
  parallel.short_edges = false;
  parallel.stages = {0, 10, 10, 10, 0, 0, 0, 0};
  CHECK(test::trouble_shrinking({.name = "mlp", .shape = mlp, .source = {}}, parallel, 8) == "");
}

TEST_CASE("a vision transformer shrinks to images that its patches tile") {
  ParallelConfig parallel;
  parallel.tp = 8;
  parallel.dp = 8;
  parallel.global_batch = 512;
  CHECK(test::trouble_shrinking(model_of("vit-h-14"), parallel, 8) == "");
  const ShrunkLayout small = shrink(model_of("vit-h-14"), parallel, 8);
  const TransformerConfig& shape = *small.model.transformer();
  CHECK(shape.image->side % shape.image->patch == 0);
  CHECK(shape.sequence == shape.image->tokens());
  CHECK(shape.hidden == shape.heads * shape.head_size);
  ModelConfig mean = model_of("vit-h-14");
  auto& of = std::get<TransformerConfig>(mean.shape);
  of.image->class_token = false;
  of.sequence = of.image->tokens();
  parallel.sequence_parallel = true;
  CHECK(test::trouble_shrinking(mean, parallel, 8) == "");
  parallel.tp = 1;
  parallel.sequence_parallel = false;
  parallel.cp = 8;
  parallel.cp_kind = ContextKind::ring;
  CHECK(test::trouble_shrinking(mean, parallel, 8) == "");
}

TEST_CASE("a diffusion transformer shrinks to latents that its patches tile") {
  ParallelConfig parallel;
  parallel.tp = 8;
  parallel.dp = 8;
  parallel.global_batch = 512;
  parallel.sequence_parallel = true;
  CHECK(test::trouble_shrinking(model_of("dit-xl-2"), parallel, 8) == "");
  const ShrunkLayout small = shrink(model_of("dit-xl-2"), parallel, 8);
  const TransformerConfig& shape = *small.model.transformer();
  CHECK(shape.sequence == shape.image->patches());
  CHECK(shape.sequence % small.parallel.tp == 0);
  CHECK(shape.hidden == shape.heads * shape.head_size);
}

TEST_CASE("an encoder and a decoder both shrink") {
  ParallelConfig parallel;
  parallel.tp = 8;
  parallel.dp = 8;
  parallel.global_batch = 512;
  CHECK(test::trouble_shrinking(model_of("t5-11b"), parallel, 8) == "");
  parallel.sequence_parallel = true;
  ModelConfig model = model_of("t5-11b");
  std::get<TransformerConfig>(model.shape).sequence = 128;
  CHECK(test::trouble_shrinking(model, parallel, 8) == "");
  const ShrunkLayout small = shrink(model, parallel, 8);
  CHECK(small.model.transformer()->encoder->layers == 2);
  CHECK(small.model.transformer()->encoder->sequence % small.parallel.tp == 0);
}

TEST_CASE("an encoder and a decoder on stages shrink together, each in its share of them") {
  ParallelConfig parallel;
  parallel.pp = 8;
  parallel.dp = 8;
  parallel.schedule = PipelineOrder::one_f_one_b;
  parallel.global_batch = 512;
  ModelConfig model = model_of("t5-11b");
  CHECK(test::trouble_shrinking(model, parallel, 8) == "");
  const ShrunkLayout small = shrink(model, parallel, 8);
  const TransformerConfig& shape = *small.model.transformer();
  CHECK(shape.layers == shape.encoder->layers);  // 24 and 24
  CHECK((shape.layers + shape.encoder->layers) % small.parallel.pp == 0);
  // Of a deeper encoder, with layers given per stage or not.
  std::get<TransformerConfig>(model.shape).encoder->layers = 72;
  CHECK(test::trouble_shrinking(model, parallel, 8) == "");
  const ShrunkLayout deep = shrink(model, parallel, 8);
  CHECK(deep.model.transformer()->encoder->layers >= deep.model.transformer()->layers);
  parallel.stages = {13, 13, 13, 13, 13, 13, 13, 5};
  CHECK(test::trouble_shrinking(model, parallel, 8) == "");
  parallel.stages.clear();
  parallel.schedule = PipelineOrder::interleaved;
  parallel.vpp = 2;
  CHECK(test::trouble_shrinking(model, parallel, 8) == "");
}

TEST_CASE("an encoder and a decoder keep their tokens cut among ranks") {
  ParallelConfig parallel;
  parallel.cp = 8;
  parallel.cp_kind = ContextKind::ulysses;
  parallel.dp = 8;
  parallel.global_batch = 512;
  ModelConfig model = model_of("t5-11b");
  std::get<TransformerConfig>(model.shape).sequence = 128;
  CHECK(test::trouble_shrinking(model, parallel, 8) == "");
}

TEST_CASE("parameter servers stay several, and so do the steps between averages") {
  ParallelConfig parallel;
  parallel.dp = 64;
  parallel.global_batch = 64;
  parallel.exchange = GradientExchange::parameter_server;
  parallel.servers = 16;
  CHECK(test::trouble_shrinking(model_of("gpt2-small"), parallel, 8) == "");
  parallel.servers = 1;
  parallel.exchange = GradientExchange::parameter_averaging;
  parallel.average_every = 10;
  CHECK(test::trouble_shrinking(model_of("gpt2-small"), parallel, 8) == "");
}

TEST_CASE("experts that are busier than others stay so") {
  ParallelConfig parallel;
  parallel.dp = 64;
  parallel.ep = 32;
  parallel.global_batch = 64;
  for (const double skew : {1.0, 2.5, 16.0}) {
    CAPTURE(skew);
    parallel.expert_skew = skew;
    CHECK(test::trouble_shrinking(model_of("deepseek-v3"), parallel, 8) == "");
  }
}

// On nodes of 8, tensor parallelism of 8 fills a node; a group of dp or pp has one rank on each.
TEST_CASE("groups within a node stay within one, those across nodes across") {
  ParallelConfig parallel = four_ways();
  parallel.cp = 1;
  const ShrunkLayout small = shrink(model_of("gpt3-175b"), parallel, 8);
  CHECK(small.gpus_per_node == small.parallel.tp);
}

// 4 of 32 ranks, each a part of its ring of 8 nodes: both levels stay above 1 and cp = 4 * 8.
TEST_CASE("with two levels of cp each shrinks by itself") {
  ParallelConfig parallel;
  parallel.cp = 64;
  parallel.cp_kind = ContextKind::both;
  for (const int ulysses : {0, 16}) {
    CAPTURE(ulysses);
    parallel.ulysses = ulysses;
    const ShrunkLayout small = shrink(model_of("llama2-7b"), parallel, 8);
    CHECK(small.parallel.cp < 64);
    CHECK((small.parallel.ulysses == 0) == (ulysses == 0));
    CHECK(test::lost_by_shrinking(model_of("llama2-7b"), parallel, 8, small) == "");
  }
}

// Two levels want ranks that can be laid out as nodes of several: 3 of 128 cannot.
TEST_CASE("an algorithm that is named can be used by as many ranks as there are then") {
  ParallelConfig parallel = four_ways();
  parallel.cp = 1;
  parallel.pp = 8;
  parallel.dp = 128;
  parallel.global_batch = 128L * 16;
  parallel.zero = 1;
  const ModelConfig model = model_of("gpt3-175b");
  CHECK(shrink(model, parallel, 8).parallel.dp == 3);
  for (const std::string algorithm : {"hierarchical", "torus", "ring:channels=2"}) {
    CAPTURE(algorithm);
    parallel.algorithms["dp"] = algorithm;
    CHECK(test::trouble_shrinking(model, parallel, 8) == "");
    CHECK(shrink(model, parallel, 8).parallel.dp == 4);
  }
}

}  // namespace
}  // namespace lockstep
