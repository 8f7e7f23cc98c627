#include "strategies/models/build_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/strategies/models/graph_rules.hpp"

namespace lockstep {
namespace {

using testing::block_named;
using testing::graph_problems;
using testing::kept_for_backward;
using testing::weight_elements;

TransformerConfig small_gpt() {
  TransformerConfig gpt;
  gpt.layers = 3;
  gpt.hidden = 16;
  gpt.heads = 4;
  gpt.kv_heads = 4;
  gpt.head_size = 4;
  gpt.ffn = 64;
  gpt.sequence = 8;
  gpt.vocabulary = 50;
  gpt.tied_embeddings = true;
  return gpt;
}

TransformerConfig small_llama() {
  TransformerConfig llama = small_gpt();
  llama.kv_heads = 2;
  llama.ffn = 24;
  llama.gated = true;
  llama.tied_embeddings = false;
  llama.bias = false;
  llama.norm = Normalization::rms;
  llama.function = ActivationFunction::swiglu;
  llama.positions = Positions::rotary;
  return llama;
}

TransformerConfig small_moe() {
  TransformerConfig moe = small_llama();
  moe.experts = ExpertsConfig{.experts = 4,
                              .top_k = 2,
                              .ffn = 12,
                              .shared = 2,
                              .shared_ffn = 6,
                              .dense_layers = 1,
                              .every = 1};
  return moe;
}

/// DeepSeek's attention, with compressed queries where `query_rank` is above 0.
TransformerConfig small_latent(std::int64_t query_rank) {
  TransformerConfig latent = small_moe();
  latent.kv_heads = latent.heads;
  latent.head_size = 6;
  latent.latent = LatentAttention{
      .query_rank = query_rank, .kv_rank = 8, .key_size = 4, .rotary_size = 2, .value_size = 5};
  return latent;
}

ModelGraph built(const decltype(ModelConfig::shape)& shape, const BuildOptions& options = {}) {
  return build_model({.name = "test", .shape = shape, .source = {}}, options);
}

std::vector<std::string> names(const std::vector<Operation>& operations) {
  std::vector<std::string> out;
  for (const Operation& operation : operations) out.push_back(operation.name);
  return out;
}

TEST_CASE("every graph keeps the rules of a graph") {
  for (const double dropout : {0.0, 0.1}) {
    for (const AttentionKind attention : {AttentionKind::flash, AttentionKind::unfused}) {
      for (TransformerConfig config :
           {small_gpt(), small_llama(), small_moe(), small_latent(0), small_latent(10)}) {
        config.dropout = dropout;
        config.attention = attention;
        CHECK(graph_problems(built(config)) == std::vector<std::string>{});
      }
    }
  }
  for (const std::int64_t layers : {1, 3}) {
    CHECK(
        graph_problems(built(MlpConfig{.hidden = 4, .ffn = 16, .layers = layers, .bias = true})) ==
        std::vector<std::string>{});
  }
}

TEST_CASE("a transformer is an embedding, its layers and a head") {
  const ModelGraph graph = built(small_gpt());
  REQUIRE(graph.chain.size() == 5);
  const auto kind = [&](std::size_t i) {
    return graph.blocks.at(static_cast<std::size_t>(graph.chain.at(i))).name;
  };
  CHECK(kind(0) == "embedding");
  CHECK(kind(1) == "layer");
  CHECK(kind(3) == "layer");
  CHECK(kind(4) == "head");
  REQUIRE(graph.shared_weights.size() == 1);
  CHECK(graph.shared_weights.front().positions == std::vector<int>{0, 4});
}

TEST_CASE("what a layer of GPT does, forward and backward") {
  const ModelGraph graph = built(small_gpt());
  const Block& layer = block_named(graph, "layer");
  CHECK(names(layer.forward) ==
        std::vector<std::string>{"attention.norm", "attention.q", "attention.k", "attention.v",
                                 "attention", "attention.out", "attention.add", "mlp.norm",
                                 "mlp.up", "mlp.activation", "mlp.down", "mlp.add"});
  CHECK(names(layer.backward) == std::vector<std::string>{"mlp.down.input_gradient",
                                                          "mlp.down.weight_gradient",
                                                          "mlp.down.bias_gradient",
                                                          "mlp.activation.backward",
                                                          "mlp.up.input_gradient",
                                                          "mlp.up.weight_gradient",
                                                          "mlp.up.bias_gradient",
                                                          "mlp.norm.backward",
                                                          "residual.middle.gradient_sum",
                                                          "attention.out.input_gradient",
                                                          "attention.out.weight_gradient",
                                                          "attention.out.bias_gradient",
                                                          "attention.backward",
                                                          "attention.v.input_gradient",
                                                          "attention.k.input_gradient",
                                                          "attention.q.input_gradient",
                                                          "attention.v.weight_gradient",
                                                          "attention.k.weight_gradient",
                                                          "attention.q.weight_gradient",
                                                          "attention.v.bias_gradient",
                                                          "attention.k.bias_gradient",
                                                          "attention.q.bias_gradient",
                                                          "attention.norm.backward",
                                                          "residual.gradient_sum"});
}

TEST_CASE("GEMMs of one input are one kernel, forward and backward") {
  const ModelGraph graph = built(small_llama());
  const Block& layer = block_named(graph, "layer");
  std::map<int, std::vector<std::string>> groups;
  for (const auto* operations : {&layer.forward, &layer.backward}) {
    for (const Operation& operation : *operations) {
      if (operation.fused > 0) groups[operation.fused].push_back(operation.name);
    }
  }
  std::set<std::vector<std::string>> found;
  for (const auto& [number, group] : groups) found.insert(group);
  CHECK(found == std::set<std::vector<std::string>>{
                     {"attention.q", "attention.k", "attention.v"},
                     {"mlp.up", "mlp.gate"},
                     {"mlp.gate.input_gradient", "mlp.up.input_gradient"},
                     {"mlp.gate.weight_gradient", "mlp.up.weight_gradient"},
                     {"attention.v.input_gradient", "attention.k.input_gradient",
                      "attention.q.input_gradient"},
                     {"attention.v.weight_gradient", "attention.k.weight_gradient",
                      "attention.q.weight_gradient"}});
}

// Korthikanti et al., arXiv 2205.05198, section 4.1: 34 sbh + 5 as^2b bytes a layer.
TEST_CASE("a GPT layer leaves for backward what Korthikanti counts, and statistics of its norms") {
  TransformerConfig gpt = small_gpt();
  gpt.dropout = 0.1;
  gpt.attention = AttentionKind::unfused;
  const std::int64_t b = 2;
  const ModelGraph graph = built(gpt, {.batch = b});
  const std::int64_t sbh = gpt.sequence * b * gpt.hidden;
  const std::int64_t square = gpt.heads * gpt.sequence * gpt.sequence * b;
  std::map<std::string, std::int64_t> kept;
  for (const auto& one : kept_for_backward(graph, block_named(graph, "layer"))) {
    kept[one.name] += one.bytes;
  }
  const std::int64_t statistics = gpt.sequence * b * 2 * 4;  // mean and deviation, fp32
  CHECK(kept == std::map<std::string, std::int64_t>{
                    {"residual", 2 * sbh},                      // input of the first norm
                    {"attention.norm.statistics", statistics},  // not in the paper
                    {"attention.norm", 2 * sbh},                // input of Q, K, V
                    {"attention.q", 2 * sbh},
                    {"attention.k", 2 * sbh},
                    {"attention.v", 2 * sbh},
                    {"attention.probabilities", 2 * square},  // output of the softmax
                    {"attention.core_dropout.mask", square},
                    {"attention.core_dropout", 2 * square},  // what is multiplied by V
                    {"attention.context", 2 * sbh},          // input of the projection
                    {"attention.dropout.mask", sbh},
                    {"residual.middle", 2 * sbh},         // input of the second norm
                    {"mlp.norm.statistics", statistics},  // not in the paper
                    {"mlp.norm", 2 * sbh},                // input of the MLP
                    {"mlp.up", 8 * sbh},                  // input of the GeLU
                    {"mlp.activation", 8 * sbh},          // its output
                    {"mlp.dropout.mask", sbh}});
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : kept) sum += bytes;
  CHECK(sum == 34 * sbh + 5 * square + 2 * statistics);
}

TEST_CASE("fused attention leaves no scores, only a number per row") {
  const ModelGraph graph = built(small_llama());
  std::map<std::string, std::int64_t> kept;
  for (const auto& one : kept_for_backward(graph, block_named(graph, "layer"))) {
    kept[one.name] = one.bytes;
  }
  CHECK(kept.count("attention.scores") == 0);
  CHECK(kept.at("attention.statistics") == 4 * 4 * 8);  // fp32, heads, sequence
  // Queries and keys are kept as they are after the rotation, not before.
  CHECK(kept.count("attention.q") == 0);
  CHECK(kept.count("attention.q_rotary") == 1);
  // Grouped keys: 2 of 4 heads.
  CHECK(kept.at("attention.k_rotary") * 2 == kept.at("attention.q_rotary"));
}

TEST_CASE("parameters of GPT by its formula") {
  const TransformerConfig gpt = small_gpt();
  const std::int64_t h = gpt.hidden;
  // Weights 12 h^2 and biases and norms 13 h a layer; tables of tokens and positions; last norm.
  const std::int64_t layer = 12 * h * h + 13 * h;
  const ModelGraph graph = built(gpt);
  CHECK(weight_elements(graph, block_named(graph, "layer")) == layer);
  CHECK(weight_elements(graph) == 3 * layer + gpt.vocabulary * h + gpt.sequence * h + 2 * h);
}

TEST_CASE("the loss is the mean over all tokens of all microbatches") {
  const ModelGraph graph = built(small_gpt(), {.batch = 2, .microbatches = 5});
  const Block& head = block_named(graph, "head");
  const double mean = 1.0 / (2 * 8 * 5);
  for (const Operation& operation : head.forward) {
    if (operation.kind == OperationKind::loss) CHECK(operation.factor == mean);
  }
  REQUIRE(head.backward.front().kind == OperationKind::loss_backward);
  CHECK(head.backward.front().factor == mean);
}

// PyTorch's cross_entropy of fp32 logits: log_softmax's result, nll_loss's gradient and its own
// gradient, 4 bytes each.
TEST_CASE("by its form a loss keeps the logits, a copy in 32 bits, or has three of them at once") {
  const auto bytes_at_gradient = [](LossForm form) {
    const ModelGraph graph = built(small_gpt(), {.batch = 2, .form = {.loss = form}});
    CHECK(graph_problems(graph).empty());
    const Block& head = block_named(graph, "head");
    const auto gradient =
        std::find_if(head.backward.begin(), head.backward.end(),
                     [](const Operation& one) { return one.kind == OperationKind::loss_backward; });
    REQUIRE(gradient != head.backward.end());
    std::int64_t bytes = 0;
    for (const auto* refs : {&gradient->reads, &gradient->writes}) {
      for (const Ref& ref : *refs) {
        const Tensor& tensor = graph.tensors[ref.tensor];
        const bool logits = find_extent(tensor, Dim::vocabulary) != nullptr;
        bytes += logits ? bytes_per_element(tensor.dtype) : 0;
      }
    }
    return bytes;
  };
  CHECK(bytes_at_gradient(LossForm::logits) == 2 + 2);
  CHECK(bytes_at_gradient(LossForm::wide_logits) == 4 + 4);
  CHECK(bytes_at_gradient(LossForm::wide_steps) == 4 + 4 + 4);
}

TEST_CASE("logits of 32 bits are not widened") {
  const ModelGraph graph = built(small_gpt(), {.activations = Dtype::fp32,
                                               .weights = Dtype::fp32,
                                               .gradients = Dtype::fp32,
                                               .form = {.loss = LossForm::wide_logits}});
  for (const Operation& operation : block_named(graph, "head").forward)
    CHECK(operation.kind != OperationKind::cast);
}

TEST_CASE("the first layer of an MLP computes no gradient of the data") {
  const ModelGraph graph = built(MlpConfig{.hidden = 4, .ffn = 16, .layers = 1});
  const Block& first = block_named(graph, "first_layer");
  CHECK(names(first.backward) ==
        std::vector<std::string>{"mlp.down.input_gradient", "mlp.down.weight_gradient",
                                 "mlp.activation.backward", "mlp.up.weight_gradient"});
  CHECK_FALSE(first.input_gradient.has_value());
  CHECK(weight_elements(graph) == 2 * 4 * 16);
}

const Tensor& tensor_named(const ModelGraph& graph, const std::string& name) {
  const auto found = std::find_if(graph.tensors.begin(), graph.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  REQUIRE(found != graph.tensors.end());
  return *found;
}

std::vector<std::int64_t> sizes(const Tensor& tensor) {
  std::vector<std::int64_t> out;
  for (const Extent& extent : tensor.extents) out.push_back(extent.size);
  return out;
}

TEST_CASE("what a layer of experts does") {
  const ModelGraph graph = built(small_moe());
  std::vector<std::string> kinds;
  for (const int kind : graph.chain) {
    kinds.push_back(graph.blocks.at(static_cast<std::size_t>(kind)).name);
  }
  CHECK(kinds ==
        std::vector<std::string>{"embedding", "layer", "expert_layer", "expert_layer", "head"});
  const std::vector<std::string> forward = names(block_named(graph, "expert_layer").forward);
  const auto norm = std::find(forward.begin(), forward.end(), "mlp.norm");
  CHECK(std::vector<std::string>{norm, forward.end()} ==
        std::vector<std::string>{"mlp.norm", "router.logits", "router", "experts.dispatch",
                                 "experts.up", "experts.gate", "experts.activation", "experts.down",
                                 "experts.combine", "shared.up", "shared.gate", "shared.activation",
                                 "shared.down", "experts.add", "mlp.add"});
}

TEST_CASE("slots of experts follow the tokens, and the capacity where there is one") {
  // 3 sequences of 8 tokens, 2 experts each of 4: 12 on average; at a capacity of 1.3, 15.6.
  CHECK(sizes(tensor_named(built(small_moe(), {.batch = 3}), "experts.slots")) ==
        std::vector<std::int64_t>{4, 12, 16});
  CHECK(sizes(tensor_named(built(small_moe(), {.batch = 3, .capacity_factor = 1.3}),
                           "experts.slots")) == std::vector<std::int64_t>{4, 16, 16});
}

// 3 ranks of one sequence: 8 tokens * 2 / 4 = 4 of each on average, 4 * 1.3 = 5.2 of room, so 6
// from each of the three (Megatron-LM moe_utils.py, get_capacity), not 12 * 1.3 = 15.6 cut in
// three.
TEST_CASE("a capacity is that for the tokens of one rank") {
  CHECK(
      sizes(tensor_named(built(small_moe(), {.batch = 3, .capacity_factor = 1.3, .token_parts = 3}),
                         "experts.slots")) == std::vector<std::int64_t>{4, 18, 16});
}

// Transformer Engine's fp8_dpa and fp8_mha, and Megatron-LM's fp8_output_proj, are off.
TEST_CASE(
    "in 8 bits attention and routers stay in 16, and the output layer unless the recipe says so") {
  const auto in_8_bits = [](TransformerConfig shape, const BuildOptions& options) {
    std::set<std::string> out;
    const ModelGraph graph = built(shape, options);
    for (const Block& block : graph.blocks) {
      for (const auto* operations : {&block.forward, &block.backward}) {
        for (const Operation& operation : *operations) {
          if (operation.math == Dtype::fp8)
            out.insert(operation.name.substr(0, operation.name.find(".weight_g")));
        }
      }
    }
    std::erase_if(out, [](const std::string& name) { return name.ends_with(".input_gradient"); });
    return out;
  };
  BuildOptions options{.math = Dtype::fp8};
  const std::set<std::string> linear{"attention.q",  "attention.k",  "attention.v", "attention.out",
                                     "mlp.up",       "mlp.gate",     "mlp.down",    "experts.up",
                                     "experts.gate", "experts.down", "shared.up",   "shared.gate",
                                     "shared.down"};
  for (const AttentionKind attention : {AttentionKind::flash, AttentionKind::unfused}) {
    TransformerConfig shape = small_moe();
    shape.attention = attention;
    options.recipe.output_layer = false;
    CHECK(in_8_bits(shape, options) == linear);
    options.recipe.output_layer = true;
    std::set<std::string> with_head = linear;
    with_head.insert("logits");
    CHECK(in_8_bits(shape, options) == with_head);
  }
}

TEST_CASE("latent attention keeps one rotated key for all heads") {
  const ModelGraph graph = built(small_latent(10));
  CHECK(sizes(tensor_named(graph, "attention.k_shared")) == std::vector<std::int64_t>{1, 8, 2});
  CHECK(sizes(tensor_named(graph, "attention.k_rotary")) == std::vector<std::int64_t>{1, 8, 4, 6});
  CHECK(sizes(tensor_named(graph, "attention.v")) == std::vector<std::int64_t>{1, 8, 4, 5});
  CHECK(sizes(tensor_named(graph, "attention.out.weight")) == std::vector<std::int64_t>{4, 5, 16});
}

TEST_CASE("a vision transformer embeds patches, and its loss is one for every image") {
  TransformerConfig shape;
  shape.layers = 2;
  shape.hidden = 8;
  shape.heads = 2;
  shape.kv_heads = 2;
  shape.head_size = 4;
  shape.ffn = 32;
  shape.vocabulary = 10;
  shape.causal = false;
  shape.head_bias = true;
  shape.image = ImageInput{.side = 32, .patch = 8, .channels = 3, .class_token = true};
  shape.sequence = shape.image->tokens();
  const ModelGraph graph = built(shape, {.batch = 3});
  CHECK(sizes(tensor_named(graph, "patches")) == std::vector<std::int64_t>{3, 16, 8 * 8 * 3});
  CHECK(sizes(tensor_named(graph, "patch_embedding")) == std::vector<std::int64_t>{3, 16, 8});
  CHECK(sizes(tensor_named(graph, "class_token")) == std::vector<std::int64_t>{3, 17, 8});
  CHECK(sizes(tensor_named(graph, "position_embedding.weight")) ==
        std::vector<std::int64_t>{17, 8});
  CHECK(sizes(tensor_named(graph, "head.pool")) == std::vector<std::int64_t>{3, 8});
  CHECK(sizes(tensor_named(graph, "logits")) == std::vector<std::int64_t>{3, 10});
  CHECK(sizes(tensor_named(graph, "labels")) == std::vector<std::int64_t>{3});
  // Of the last norm its input is read again, of its result nothing: the head is a look at one
  // token.
  std::set<std::string> kept;
  for (const auto& one : kept_for_backward(graph, block_named(graph, "head")))
    kept.insert(one.name);
  CHECK(kept == std::set<std::string>{"residual", "head.norm.statistics", "head.pool", "logits",
                                      "loss.maximum", "loss.sum"});
  // Neither patches nor position have a gradient; those of all weights are made.
  for (const Operation& operation : block_named(graph, "embedding").backward)
    for (const Ref& written : operation.writes)
      CHECK(graph.tensors.at(written.tensor).name.find("patches") == std::string::npos);
  shape.image->class_token = false;
  shape.sequence = shape.image->tokens();
  const ModelGraph mean = built(shape, {.batch = 3});
  CHECK(sizes(tensor_named(mean, "patch_embedding")) == std::vector<std::int64_t>{3, 16, 8});
  CHECK(sizes(tensor_named(mean, "head.norm")) == std::vector<std::int64_t>{3, 16, 8});
}

TEST_CASE("images shrink through a ResNet, and only ReLU's results are kept") {
  const ModelGraph graph = built(ResNetConfig{}, {.batch = 2});
  CHECK(graph.chain.size() == 1 + 16 + 1);
  CHECK(sizes(tensor_named(graph, "stem.out")) == std::vector<std::int64_t>{2, 56, 56, 64});
  CHECK(sizes(tensor_named(graph, "stage1.out")) == std::vector<std::int64_t>{2, 56, 56, 256});
  CHECK(sizes(tensor_named(graph, "stage4.out")) == std::vector<std::int64_t>{2, 7, 7, 2048});
  std::set<std::string> kept;
  for (const auto& one : kept_for_backward(graph, block_named(graph, "stage2.block"))) {
    kept.insert(one.name);
  }
  CHECK(kept == std::set<std::string>{"stage2.out", "convolution1", "convolution1.norm.statistics",
                                      "convolution1.relu", "convolution2",
                                      "convolution2.norm.statistics", "convolution2.relu",
                                      "convolution3", "convolution3.norm.statistics"});
}

}  // namespace
}  // namespace lockstep
