#include "strategies/pipeline/recompute.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "strategies/models/build_model.hpp"
#include "strategies/pipeline/split_backward.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "strategies/sharding/sharding_rules.hpp"

namespace lockstep {
namespace {

[[nodiscard]] ModelGraph gpt(AttentionKind attention, double dropout = 0.1) {
  TransformerConfig shape;
  shape.layers = 2;
  shape.hidden = 32;
  shape.heads = 4;
  shape.kv_heads = 4;
  shape.head_size = 8;
  shape.ffn = 128;
  shape.sequence = 16;
  shape.vocabulary = 64;
  shape.attention = attention;
  shape.dropout = dropout;
  ModelConfig model;
  model.shape = shape;
  return build_model(model, {});
}

[[nodiscard]] const Block& layer(const ModelGraph& graph) {
  return graph.blocks[static_cast<std::size_t>(graph.chain[1])];
}

/// Names of what backward does again.
[[nodiscard]] std::vector<std::string> again(const Block& block) {
  std::vector<std::string> out;
  for (const Operation& operation : block.backward) {
    const std::string& name = operation.name;
    if (name.size() > 6 && name.substr(name.size() - 6) == ".again") {
      out.push_back(name.substr(0, name.size() - 6));
    }
  }
  return out;
}

[[nodiscard]] std::vector<std::string> names(const std::vector<Operation>& operations) {
  std::vector<std::string> out;
  for (const Operation& operation : operations) out.push_back(operation.name);
  return out;
}

}  // namespace

// Megatron-LM checkpoints the whole of core attention (transformer.py, _checkpointed_attention).
TEST_CASE(
    "selective recomputation does core attention again, up to what is read if it stops early") {
  using Names = std::vector<std::string>;
  for (const bool stops_early : {false, true}) {
    ModelGraph graph = gpt(AttentionKind::unfused);
    recompute(graph, Recompute::selective, {RecomputeModule::core_attn}, stops_early);
    Names expected{"attention.scores", "attention.softmax", "attention.core_dropout"};
    if (!stops_early) expected.push_back("attention.context");
    CHECK(again(layer(graph)) == expected);
  }
}

TEST_CASE("with fused attention there is nothing to do again") {
  ModelGraph graph = gpt(AttentionKind::flash);
  const std::vector<Operation>& before = layer(graph).backward;
  const std::vector<std::string> as_it_was = names(before);
  recompute(graph, Recompute::selective);
  CHECK(names(layer(graph).backward) == as_it_was);
}

/// Two layers of Llama's kind, the first with a plain MLP, the second with experts, both with
/// latent attention.
[[nodiscard]] ModelGraph latent_experts() {
  TransformerConfig shape;
  shape.layers = 2;
  shape.hidden = 32;
  shape.heads = shape.kv_heads = 4;
  shape.head_size = 8;
  shape.ffn = 128;
  shape.sequence = 16;
  shape.vocabulary = 64;
  shape.attention = AttentionKind::flash;
  shape.gated = true;
  shape.function = ActivationFunction::swiglu;
  shape.positions = Positions::rotary;
  shape.latent = LatentAttention{
      .query_rank = 8, .kv_rank = 8, .key_size = 4, .rotary_size = 4, .value_size = 8};
  shape.experts = ExpertsConfig{.experts = 4,
                                .top_k = 2,
                                .ffn = 8,
                                .shared = 1,
                                .shared_ffn = 8,
                                .dense_layers = 1,
                                .every = 1};
  shape.mtp = TokenPrediction{.layers = 1, .loss_scaling_factor = 0.1};
  ModelConfig model;
  model.shape = shape;
  return build_model(model, {});
}

[[nodiscard]] std::vector<std::string> again(RecomputeModule module, std::size_t position,
                                             bool stops_early = false) {
  ModelGraph graph = latent_experts();
  recompute(graph, Recompute::selective, {module}, stops_early);
  return again(graph.blocks[static_cast<std::size_t>(graph.chain[position])]);
}

TEST_CASE("modules: what of a layer is done again") {
  using enum RecomputeModule;
  using Names = std::vector<std::string>;
  constexpr std::size_t kPlain = 1;
  constexpr std::size_t kExperts = 2;
  CHECK(again(core_attn, kPlain) == Names{});  // fused
  // Backward meets the MLP's norm first.
  CHECK(again(layernorm, kPlain) == Names{"mlp.norm", "attention.norm"});
  CHECK(again(mla_up_proj, kPlain) == Names{"attention.q_norm", "attention.q", "attention.q_rotary",
                                            "attention.kv_norm", "attention.k", "attention.v",
                                            "attention.k_rotary"});
  CHECK(again(mlp, kPlain) == Names{"mlp.up", "mlp.gate", "mlp.activation", "mlp.down"});
  CHECK(again(mlp, kPlain, true) == Names{"mlp.up", "mlp.gate", "mlp.activation"});
  for (const RecomputeModule module : {moe, moe_act, shared_experts})
    CHECK(again(module, kPlain) == Names{});
  CHECK(again(mlp, kExperts) == Names{});
  CHECK(again(moe_act, kExperts) == Names{"experts.activation"});
  CHECK(again(shared_experts, kExperts) ==
        Names{"shared.up", "shared.gate", "shared.activation", "shared.down"});
  CHECK(again(moe, kExperts) == Names{"router.logits", "router", "experts.dispatch", "experts.up",
                                      "experts.gate", "experts.activation", "experts.down",
                                      "experts.combine", "shared.up", "shared.gate",
                                      "shared.activation", "shared.down", "experts.add"});
  CHECK(again(moe, kExperts, true).back() == "shared.activation");
  // The layer of multi-token prediction is in the last block.
  CHECK(again(moe_act, 3) == Names{"mtp.experts.activation"});
  CHECK(again(layernorm, 3) == Names{"mtp.mlp.norm", "mtp.attention.norm"});
}

TEST_CASE("modules: each is done again right before backward reads of it") {
  ModelGraph graph = latent_experts();
  recompute(graph, Recompute::selective,
            {RecomputeModule::layernorm, RecomputeModule::mla_up_proj, RecomputeModule::moe_act});
  const std::vector<std::string> all =
      names(graph.blocks[static_cast<std::size_t>(graph.chain[2])].backward);
  const auto next = [&all](const std::string& name) {
    const auto found = std::find(all.begin(), all.end(), name);
    REQUIRE(all.end() - found > 1);
    return *(found + 1);
  };
  CHECK(next("experts.activation.again") == "experts.down.weight_gradient");
  CHECK(next("attention.k_rotary.again") == "attention.backward");
  CHECK(next("attention.norm.again") == "attention.k_shared.weight_gradient");
}

TEST_CASE("full recomputation does the whole forward pass again, before anything else") {
  ModelGraph graph = gpt(AttentionKind::flash);
  const std::vector<std::string> forward = names(layer(graph).forward);
  recompute(graph, Recompute::full);
  CHECK(again(layer(graph)) == forward);
  const auto& backward = layer(graph).backward;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    CHECK(backward[i].purpose == Purpose::recompute);
  }
  // Of what forward leaves, backward reads the input of the block alone.
  std::set<TensorId> written;
  for (const Operation& operation : layer(graph).forward) {
    for (const Ref& ref : operation.writes) written.insert(ref.tensor);
  }
  written.erase(*layer(graph).input);
  for (const Operation& operation : backward) {
    for (const Ref& ref : operation.reads) CHECK(!written.contains(ref.tensor));
  }
}

TEST_CASE("a second forward pass that stops early ends with the last tensor that backward reads") {
  for (const double dropout : {0.0, 0.1}) {
    ModelGraph graph = gpt(AttentionKind::flash, dropout);
    const std::vector<std::string> forward = names(layer(graph).forward);
    recompute(graph, Recompute::full, {}, true);
    // Of the last GEMM's result backward reads nothing; of dropout after it the mask.
    const std::string last = dropout > 0 ? "mlp.dropout" : "mlp.activation";
    const auto end = std::find(forward.begin(), forward.end(), last) + 1;
    REQUIRE(end <= forward.end());
    CHECK(again(layer(graph)) == std::vector<std::string>{forward.begin(), end});
  }
}

TEST_CASE(
    "every second product is kept, and attention, what backward needs of the rest is done again") {
  ModelGraph graph = gpt(AttentionKind::flash, 0);
  recompute(graph, Recompute::every_second_gemm);
  // Products in order: q, k, v, out, up, down. The second, fourth and sixth are not kept; of down's
  // result backward reads nothing, nor of what is added to it. Kept: q, v, up, attention.
  CHECK(again(layer(graph)) == std::vector<std::string>{"attention.norm", "attention.k",
                                                        "attention.out", "attention.add",
                                                        "mlp.norm", "mlp.activation"});
}

TEST_CASE("every second layer: the other half is left as it was") {
  ModelGraph graph = gpt(AttentionKind::flash);
  const std::vector<std::string> forward = names(layer(graph).forward);
  const std::vector<std::string> backward = names(layer(graph).backward);
  recompute(graph, Recompute::every_second_layer);
  CHECK(again(layer(graph)) == forward);
  REQUIRE(graph.chain[2] != graph.chain[1]);
  const Block& second = graph.blocks[static_cast<std::size_t>(graph.chain[2])];
  CHECK(names(second.backward) == backward);
  CHECK(second.weights == layer(graph).weights);
}

TEST_CASE("the embedding and the head are left as they are") {
  ModelGraph graph = gpt(AttentionKind::unfused);
  recompute(graph, Recompute::full);
  for (const int index : {graph.chain.front(), graph.chain.back()}) {
    CHECK(again(graph.blocks[static_cast<std::size_t>(index)]).empty());
  }
}

TEST_CASE("what was communicated forward is communicated again") {
  ParallelConfig with;
  with.tp = 2;
  const Mesh mesh = device_mesh(with, 4, 8);
  ModelGraph graph = gpt(AttentionKind::flash);
  propagate_sharding(graph, mesh, sharding_rules(with, mesh));
  recompute(graph, Recompute::full);
  std::int64_t sent_again = 0;
  for (const Operation& operation : layer(graph).backward) {
    if (operation.kind != OperationKind::collective) continue;
    if (operation.name.find(".again") == std::string::npos) continue;
    CHECK(operation.purpose == Purpose::communication);
    ++sent_again;
  }
  CHECK(sent_again == 2);  // attention's and the MLP's all-reduce
}

TEST_CASE("backward in halves: together they are the whole, in its order") {
  const ModelGraph graph = gpt(AttentionKind::flash);
  for (const Block& block : graph.blocks) {
    const SplitBackward halves = split_backward(graph, block);
    std::vector<std::string> both = names(halves.input_gradients);
    const std::vector<std::string> weights = names(halves.weight_gradients);
    both.insert(both.end(), weights.begin(), weights.end());
    std::vector<std::string> all = names(block.backward);
    std::sort(both.begin(), both.end());
    std::sort(all.begin(), all.end());
    CHECK(both == all);
  }
}

TEST_CASE(
    "backward in halves: the first makes the input's gradient and needs nothing of the second") {
  const ModelGraph graph = gpt(AttentionKind::flash);
  const SplitBackward halves = split_backward(graph, layer(graph));
  std::set<TensorId> late;
  for (const Operation& operation : halves.weight_gradients) {
    for (const Ref& ref : operation.writes) {
      late.insert(ref.tensor);
      CHECK(ref.tensor != *layer(graph).input_gradient);
    }
  }
  for (const Operation& operation : halves.input_gradients) {
    for (const Ref& ref : operation.reads) CHECK(!late.contains(ref.tensor));
  }
  // Products of the second are those of weights: Q, K, V, the output, up and down.
  const auto gemms =
      std::count_if(halves.weight_gradients.begin(), halves.weight_gradients.end(),
                    [](const Operation& one) { return one.kind == OperationKind::matmul; });
  CHECK(gemms == 6);
}

TEST_CASE("backward in halves: of the first block everything is in the second") {
  const ModelGraph graph = gpt(AttentionKind::flash);
  const Block& embedding = graph.blocks[static_cast<std::size_t>(graph.chain.front())];
  CHECK(split_backward(graph, embedding).input_gradients.empty());
}

}  // namespace lockstep
