#include <doctest/doctest.h>

#include <algorithm>

#include "sim/trace/memory/memory.hpp"
#include "strategies/models/count/count.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// Memory against closed forms. Symbols: s sequence, b microbatch, h hidden, a heads, t = tp, p =
/// pp, v = vpp, L layers. Source: Korthikanti et al., Reducing Activation Recomputation in Large
/// Transformer Models, arXiv 2205.05198, section 4; activations are 2 bytes, masks 1.
///
/// The paper leaves out, and the program has: per layer two norms' mean and reciprocal standard
/// deviation in fp32, 2 * 2 * 4 bytes a token = 16sb (cut by t under sequence parallelism, where
/// norms see a part of the tokens), and with fused attention its row sums in fp32, 4asb/t, for the
/// scores' 5as^2b/t. The rest is equal to the byte:
///   attention: norm's input 2sbh, projections' input 2sbh, Q, K and V 6sbh, softmax's output
///   2as^2b, its mask as^2b, what the mask leaves 2as^2b, context 2sbh, mask sbh
///   MLP: norm's input 2sbh, its input 2sbh, GELU's input and output 8sbh each, mask sbh

namespace lockstep::test {
namespace {

constexpr std::int64_t kS = 64;
constexpr std::int64_t kB = 2;
constexpr std::int64_t kH = 128;
constexpr std::int64_t kA = 8;
constexpr std::int64_t kSbh = kS * kB * kH;
constexpr std::int64_t kStatistics = 16 * kS * kB;
/// 5as^2b: 5as/h of sbh.
constexpr std::int64_t kScores = 5 * kA * kS * kS * kB;

[[nodiscard]] TransformerConfig gpt() {
  TransformerConfig out;
  out.layers = 2;
  out.hidden = kH;
  out.heads = kA;
  out.sequence = kS;
  out.vocabulary = 128;
  out.attention = AttentionKind::unfused;
  out.dropout = 0.1;
  return out;
}

[[nodiscard]] ParallelConfig layout(int tp = 1, bool sequence_parallel = false,
                                    Recompute recompute = Recompute::none) {
  ParallelConfig out;
  out.tp = tp;
  out.sequence_parallel = sequence_parallel;
  out.recompute = recompute;
  out.micro_batch = kB;
  out.global_batch = kB;
  return out;
}

/// What forward leaves for backward of one layer and one microbatch.
[[nodiscard]] std::vector<HeldInstance> kept(const TrainingStepUnderTest& step, int position = 1) {
  LiveQuery query;
  query.forward = {step.routine("layer.forward")};
  query.backward = {step.routine("layer.backward")};
  query.position = position;
  return live_between(step.role(), query);
}

[[nodiscard]] std::int64_t bytes_per_layer(const TransformerConfig& shape,
                                           const ParallelConfig& with) {
  return total_bytes(kept(TrainingStepUnderTest{transformer(shape), with})).count();
}

}  // namespace

TEST_CASE("activations of a layer: sbh (34 + 5as/h)") {
  CHECK(bytes_per_layer(gpt(), layout()) == 34 * kSbh + kScores + kStatistics);
}

// A module keeps what a layer keeps, the embedding as its norm reads it (2) and its dropout's mask
// (1), both halves of the projection's input (4), the stream behind the layer (2) and its norm (2):
// 11 sbh; mean and reciprocal standard deviation of three norms, 8sb each; logits of 2sbV, their
// maximum and their sum in fp32, 8sb.
TEST_CASE("activations of multi-token prediction: a layer's, 11 sbh, and logits of its own") {
  TransformerConfig shape = gpt();
  shape.positions = Positions::none;
  const auto of_head = [&shape] {
    const TrainingStepUnderTest step{transformer(shape), layout()};
    LiveQuery query;
    query.forward = {step.routine("head.forward")};
    query.backward = {step.routine("head.backward")};
    query.position = static_cast<int>(shape.layers) + 1;
    return total_bytes(live_between(step.role(), query)).count();
  };
  const std::int64_t without = of_head();
  shape.mtp = TokenPrediction{.layers = 1, .loss_scaling_factor = 0.1};
  CHECK(of_head() - without == 34 * kSbh + kScores + kStatistics + 11 * kSbh + 3 * 8 * kS * kB +
                                   2 * kS * kB * shape.vocabulary + 8 * kS * kB);
}

TEST_CASE("activations of a layer, tensor by tensor") {
  const TrainingStepUnderTest step{transformer(gpt()), layout()};
  const auto held = kept(step);
  const auto bytes = [&](std::string_view name) {
    std::int64_t sum = 0;
    for (const HeldInstance& one : held) {
      if (step.role().tensor(one.instance).name == name) sum += one.bytes.count();
    }
    return sum;
  };
  CHECK(bytes("residual") == 2 * kSbh);
  CHECK(bytes("attention.norm") == 2 * kSbh);
  CHECK(bytes("attention.q") + bytes("attention.k") + bytes("attention.v") == 6 * kSbh);
  CHECK(bytes("attention.probabilities") == kScores * 2 / 5);
  CHECK(bytes("attention.core_dropout.mask") == kScores / 5);
  CHECK(bytes("attention.core_dropout") == kScores * 2 / 5);
  CHECK(bytes("attention.context") == 2 * kSbh);
  CHECK(bytes("attention.dropout.mask") == kSbh);
  CHECK(bytes("residual.middle") == 2 * kSbh);
  CHECK(bytes("mlp.norm") == 2 * kSbh);
  CHECK(bytes("mlp.up") == 8 * kSbh);
  CHECK(bytes("mlp.activation") == 8 * kSbh);
  CHECK(bytes("mlp.dropout.mask") == kSbh);
  CHECK(bytes("attention.norm.statistics") + bytes("mlp.norm.statistics") == kStatistics);
  CHECK(held.size() == 17);  // and nothing else
}

TEST_CASE("activations of a layer, tensor parallelism: sbh (10 + 24/t + 5as/(ht))") {
  // Not cut: both norms' inputs, the projections' and the MLP's input, both masks: 10sbh.
  for (const int t : {2, 4, 8}) {
    CAPTURE(t);
    CHECK(bytes_per_layer(gpt(), layout(t)) ==
          10 * kSbh + 24 * kSbh / t + kScores / t + kStatistics);
  }
}

TEST_CASE("activations of a layer, sequence parallelism: all of it over t") {
  for (const int t : {2, 4, 8}) {
    CAPTURE(t);
    CHECK(bytes_per_layer(gpt(), layout(t, true)) == (34 * kSbh + kScores + kStatistics) / t);
  }
}

TEST_CASE("activations of a layer, selective recomputation: 34sbh/t") {
  for (const int t : {1, 2, 8}) {
    CAPTURE(t);
    CHECK(bytes_per_layer(gpt(), layout(t, t > 1, Recompute::selective)) ==
          (34 * kSbh + kStatistics) / t);
  }
  CHECK(bytes_per_layer(gpt(), layout(4, false, Recompute::selective)) ==
        10 * kSbh + 24 * kSbh / 4 + kStatistics);
}

TEST_CASE("activations of a layer, full recomputation: its input alone, 2sbh") {
  CHECK(bytes_per_layer(gpt(), layout(1, false, Recompute::full)) == 2 * kSbh);
  CHECK(bytes_per_layer(gpt(), layout(4, false, Recompute::full)) == 2 * kSbh);
  CHECK(bytes_per_layer(gpt(), layout(4, true, Recompute::full)) == 2 * kSbh / 4);
}

TEST_CASE("activations of a layer, fused attention: 34sbh and 4asb of row sums") {
  // Scores are never stored, whatever the recomputation (Dao et al., arXiv 2205.14135).
  TransformerConfig flash = gpt();
  flash.attention = AttentionKind::flash;
  const std::int64_t row_sums = 4 * kA * kS * kB;
  for (const int t : {1, 4}) {
    const std::int64_t all = (34 * kSbh + row_sums + kStatistics) / t;
    CHECK(bytes_per_layer(flash, layout(t, t > 1)) == all);
    CHECK(bytes_per_layer(flash, layout(t, t > 1, Recompute::selective)) == all);
  }
}

TEST_CASE("activations of a layer, grouped keys and a gated MLP without dropout") {
  // Q 2sbh and K, V 2sbh g/a each; gate, up and their GEMM 2sbF each; no masks (PLANNERS,
  // section 1); RMS norm keeps one number a token, 2 * 4sb together; rotated queries and keys are
  // kept in place of those that were rotated.
  TransformerConfig llama = gpt();
  llama.attention = AttentionKind::flash;
  llama.dropout = 0;
  llama.kv_heads = 2;
  llama.gated = true;
  llama.function = ActivationFunction::swiglu;
  llama.norm = Normalization::rms;
  llama.positions = Positions::rotary;
  llama.bias = false;
  llama.ffn = 3 * kH;
  // In 2sbh: norm's input and output, Q, K and V together half of it, context; MLP's norm and
  // input.
  const std::int64_t stream = 2 * kSbh;
  const std::int64_t of_mlp = 3 * 2 * kS * kB * 3 * kH;
  CHECK(bytes_per_layer(llama, layout()) ==
        6 * stream + stream / 2 + of_mlp + 4 * kA * kS * kB + 8 * kS * kB);
}

// Of 34sbh the norms' results are 4sbh, with their statistics; the MLP's are GELU's input and
// output, 8sbh each. Without sequence parallelism norms are not cut.
TEST_CASE("activations of a layer, modules of recomputation: norms 4sbh, MLP 16sbh, core 5as^2b") {
  using enum RecomputeModule;
  const auto bytes = [](int t, bool sequence_parallel, const std::set<RecomputeModule>& modules) {
    ParallelConfig with = layout(t, sequence_parallel, Recompute::selective);
    with.recompute_modules = modules;
    return bytes_per_layer(gpt(), with);
  };
  for (const int t : {1, 2, 8}) {
    CAPTURE(t);
    const bool cut = t > 1;
    CHECK(bytes(t, cut, {layernorm}) == (30 * kSbh + kScores) / t);
    CHECK(bytes(t, cut, {mlp}) == (18 * kSbh + kScores + kStatistics) / t);
    CHECK(bytes(t, cut, {core_attn, mlp}) == (18 * kSbh + kStatistics) / t);
    CHECK(bytes(t, cut, {core_attn, layernorm, mlp}) == 14 * kSbh / t);
  }
  CHECK(bytes(4, false, {layernorm}) == 6 * kSbh + 24 * kSbh / 4 + kScores / 4);
  CHECK(bytes(4, false, {mlp}) == 10 * kSbh + 8 * kSbh / 4 + kScores / 4 + kStatistics);
}

// Bytes of a token. MLA: queries and keys of a heads of 16 + 8, values of 12; what is compressed,
// 48 and 32 wide, stays, with the rotary key of 8 that all heads share, which nothing else reads.
// Norms: result and, in fp32, a reciprocal standard deviation. Experts: 3F each of two, and F the
// activation function's; with all of it their tokens and results, 2h each, and the router's logits,
// weights and experts. Shared: 3F.
TEST_CASE("activations of a layer of experts with latent attention, modules of recomputation") {
  using enum RecomputeModule;
  TransformerConfig shape = gpt();
  shape.attention = AttentionKind::flash;
  shape.dropout = 0;
  shape.gated = true;
  shape.function = ActivationFunction::swiglu;
  shape.norm = Normalization::rms;
  shape.positions = Positions::rotary;
  shape.bias = false;
  shape.head_size = 24;
  shape.latent = LatentAttention{
      .query_rank = 48, .kv_rank = 32, .key_size = 16, .rotary_size = 8, .value_size = 12};
  constexpr std::int64_t kF = 96;
  shape.experts = ExpertsConfig{};
  shape.experts->experts = 4;
  shape.experts->top_k = 2;
  shape.experts->ffn = kF;
  shape.experts->shared = 1;
  shape.experts->shared_ffn = kF;
  const auto bytes = [&shape](const std::set<RecomputeModule>& modules) {
    ParallelConfig with = layout();
    if (!modules.empty()) {
      with.recompute = Recompute::selective;
      with.recompute_modules = modules;
    }
    const TrainingStepUnderTest step{transformer(shape), with};
    LiveQuery query;
    query.forward = {step.routine("expert_layer.forward")};
    query.backward = {step.routine("expert_layer.backward")};
    query.position = 1;
    return total_bytes(live_between(step.role(), query)).count();
  };
  const auto saved = [&](const std::set<RecomputeModule>& modules) {
    return (bytes({}) - bytes(modules)) / (kS * kB);
  };
  const std::int64_t norms = 2 * (2 * kH + 4);
  const std::int64_t up = 2 * 48 + 4 + 2 * 32 + 4 + kA * 2 * (24 + 24 + 12) - 2 * 8;
  const std::int64_t shared = 3 * 2 * kF;
  const std::int64_t moes = 2 * (2 * kH + 3 * 2 * kF + 2 * kH) + 4 * 4 + 2 * 4 + 2 * 4 + shared;
  CHECK(saved({layernorm}) == norms);
  CHECK(saved({mla_up_proj}) == up);
  CHECK(saved({moe_act}) == 2 * 2 * kF);
  CHECK(saved({shared_experts}) == shared);
  CHECK(saved({moe}) == moes);
  CHECK(saved({layernorm, mla_up_proj, moe_act}) == norms + up + 2 * 2 * kF);
  CHECK(saved({layernorm, mla_up_proj, moe, moe_act, shared_experts}) == norms + up + moes);
}

TEST_CASE("activations of a layer, context parallelism: ulysses keeps what it exchanged, once") {
  // 34sbh/n: queries, keys, values and the context as attention had them, the context also as the
  // output projection had it: 2sbh/n more. Row sums 4asb/n, norms 16sb/n.
  TransformerConfig flash = gpt();
  flash.attention = AttentionKind::flash;
  for (const int n : {2, 4}) {
    CAPTURE(n);
    ParallelConfig with = layout();
    with.cp = n;
    with.cp_kind = ContextKind::ulysses;
    CHECK(bytes_per_layer(flash, with) == ((34 + 2) * kSbh + 4 * kA * kS * kB + kStatistics) / n);
    with.cp_kind = ContextKind::ring;
    CHECK(bytes_per_layer(flash, with) == (34 * kSbh + 4 * kA * kS * kB + kStatistics) / n);
  }
}

TEST_CASE("activations of a layer of experts: a copy of each token per visit") {
  // PLANNERS, section 1: k (2h + 3 * 2F) a token for a gated MLP, here 2 * 2F without a gate; the
  // experts' results 2kh, which the gradient of the router's weights asks for; router logits 4E,
  // weights and experts of a token 4k each. In place of the MLP's 16sbh.
  TransformerConfig moe = gpt();
  moe.attention = AttentionKind::flash;
  moe.dropout = 0;
  moe.experts = ExpertsConfig{};
  moe.experts->experts = 4;
  moe.experts->top_k = 2;
  moe.experts->ffn = 96;
  const auto kept_with = [&](const ParallelConfig& with) {
    const TrainingStepUnderTest step{transformer(moe), with};
    LiveQuery query;
    query.forward = {step.routine("expert_layer.forward")};
    query.backward = {step.routine("expert_layer.backward")};
    query.position = 1;
    return total_bytes(live_between(step.role(), query)).count();
  };
  const std::int64_t tokens = kS * kB;
  const std::int64_t others = (2 + 2 + 6 + 2 + 2 + 2) * kSbh + 4 * kA * kS * kB + kStatistics;
  const std::int64_t of_experts = 2 * tokens * (2 * kH + 2 * 2 * 96 + 2 * kH);
  const std::int64_t of_router = tokens * (4 * 4 + 2 * 4 + 2 * 4);
  CHECK(kept_with(layout()) == others + of_experts + of_router);
  // Multiplied into the activation (Megatron-Core core/fusions/fused_bias_swiglu.py,
  // WeightedSwiGLUFunction keeps its input and the weights): no results, but a weight of 4 bytes
  // per visit beside the token's 4k.
  moe.bias = false;
  ParallelConfig early = layout();
  early.form.router_weights = RouterWeights::activation;
  CHECK(kept_with(early) == others + of_experts + of_router - 2 * tokens * 2 * kH + 4 * tokens * 2);
}

}  // namespace lockstep::test
