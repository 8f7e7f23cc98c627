#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "sim/execute/run_program/execute_program.hpp"
#include "strategies/step/build_program.hpp"
#include "tests/strategies/step/step_under_test.hpp"

// The kernels' backward passes against differences of the loss that they compute: with SGD at rate
// 1 a step takes the gradient off every weight, so that weight before minus weight after is the
// gradient as executed.
namespace lockstep {
namespace {

/// The loss when one element of one weight is moved before the first step.
double moved_loss(const Program& program, std::size_t weight, std::size_t element, double by) {
  ProgramExecution execution{program};
  (*execution.weights().at(weight).values).at(element) += by;
  return execution.step();
}

/// The largest difference between executed gradients and those by differences, of a few elements of
/// every weight, over the largest gradient.
double worst_difference(const decltype(ModelConfig::shape)& shape) {
  ParallelConfig parallel;
  parallel.micro_batch = 2;
  parallel.global_batch = 4;
  parallel.state.optimizer = Optimizer::sgd;
  parallel.state.master = false;
  const Program program =
      build_program({.name = "test", .shape = shape, .source = {}}, parallel, 8);
  ExecutionOptions options;
  options.optimizer.learning_rate = 1;
  ProgramExecution execution{program, options};
  const std::vector<HeldWeight> weights = execution.weights();
  std::vector<std::vector<double>> before;
  for (const HeldWeight& weight : weights) before.push_back(*weight.values);
  (void)execution.step();
  double worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t stride = before[i].size() / 3 + 1;
    for (std::size_t k = i % stride; k < before[i].size(); k += stride) {
      constexpr double kStep = 1e-5;
      const double above = moved_loss(program, i, k, kStep);
      const double below = moved_loss(program, i, k, -kStep);
      const double by_differences = (above - below) / (2 * kStep);
      worst = std::max(worst, std::abs(before[i][k] - (*weights[i].values)[k] - by_differences));
      largest = std::max(largest, std::abs(by_differences));
    }
  }
  REQUIRE(largest > 1e-3);
  return worst / largest;
}

// Central differences of step 1e-5 err by about 1e-10 (curvature) and 1e-16 / 1e-5 (rounding);
// batch norm over few pixels is the most curved.
constexpr double kClose = 2e-6;

TransformerConfig tiny() {
  TransformerConfig out;
  out.layers = 1;
  out.hidden = 4;
  out.heads = 2;
  out.kv_heads = 2;
  out.head_size = 2;
  out.ffn = 6;
  out.sequence = 5;
  out.vocabulary = 7;
  return out;
}

TransformerConfig tiny_llama() {
  TransformerConfig out = tiny();
  out.kv_heads = 1;
  out.gated = true;
  out.bias = false;
  out.qkv_bias = true;
  out.norm = Normalization::rms;
  out.function = ActivationFunction::swiglu;
  out.positions = Positions::rotary;
  return out;
}

TEST_CASE("executed gradients of transformers are those of the loss") {
  for (const AttentionKind kind : {AttentionKind::flash, AttentionKind::unfused}) {
    for (const double dropout : {0.0, 0.25}) {
      for (const bool causal : {false, true}) {
        TransformerConfig gpt = tiny();
        gpt.attention = kind;
        gpt.dropout = dropout;
        gpt.causal = causal;
        gpt.tied_embeddings = causal;
        CHECK(worst_difference(gpt) < kClose);
      }
    }
    TransformerConfig llama = tiny_llama();
    llama.attention = kind;
    CHECK(worst_difference(llama) < kClose);
  }
}

TEST_CASE("executed gradients of experts and latent attention are those of the loss") {
  TransformerConfig moe = tiny_llama();
  moe.experts = ExpertsConfig{
      .experts = 3, .top_k = 2, .ffn = 3, .shared = 1, .shared_ffn = 2, .dense_layers = 0};
  CHECK(worst_difference(moe) < kClose);
  moe.kv_heads = 2;
  moe.head_size = 5;
  for (const std::int64_t query_rank : {0, 3}) {
    moe.latent = LatentAttention{
        .query_rank = query_rank, .kv_rank = 3, .key_size = 3, .rotary_size = 2, .value_size = 2};
    CHECK(worst_difference(moe) < kClose);
  }
}

TEST_CASE("executed gradients of vision transformers are those of the loss") {
  for (const bool class_token : {true, false}) {
    TransformerConfig vit = tiny();
    vit.causal = false;
    vit.head_bias = true;
    vit.image = ImageInput{.side = 4, .patch = 2, .channels = 3, .class_token = class_token};
    vit.sequence = vit.image->tokens();
    CHECK(worst_difference(vit) < kClose);
  }
}

TEST_CASE("executed gradients of diffusion transformers are those of the loss") {
  for (const bool variance : {true, false}) {
    TransformerConfig dit = tiny();
    dit.layers = 2;
    dit.causal = false;
    dit.norm_gain = false;
    dit.image = ImageInput{.side = 4, .patch = 2, .channels = 3, .class_token = false};
    dit.sequence = dit.image->tokens();
    dit.diffusion = DiffusionTransformer{.frequencies = 6, .learned_variance = variance};
    CHECK(worst_difference(dit) < kClose);
  }
}

TEST_CASE("executed gradients of MLPs and ResNets are those of the loss") {
  for (const ActivationFunction function :
       {ActivationFunction::relu, ActivationFunction::gelu, ActivationFunction::silu}) {
    CHECK(worst_difference(MlpConfig{
              .hidden = 5, .ffn = 7, .layers = 2, .function = function, .bias = true}) < kClose);
  }
  ResNetConfig resnet{.stages = {1, 1}, .width = 2, .image = 10, .classes = 5};
  CHECK(worst_difference(resnet) < kClose);
  resnet.frames = 2;
  resnet.temporal_shift = true;
  CHECK(worst_difference(resnet) < kClose);
}

TEST_CASE("executed gradients of an encoder and a decoder are those of the loss") {
  TransformerConfig t5 = tiny();
  t5.layers = 2;
  t5.positions = Positions::none;
  t5.attention = AttentionKind::unfused;
  t5.norm = Normalization::rms;
  t5.bias = false;
  for (const bool tied : {true, false}) {
    t5.tied_embeddings = tied;
    t5.encoder = EncoderStack{.layers = 2, .sequence = 5, .buckets = 4};
    CHECK(worst_difference(t5) < kClose);
  }
}

}  // namespace
}  // namespace lockstep
