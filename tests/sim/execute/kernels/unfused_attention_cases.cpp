#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kTokens = 4;
const Shape kScores{
    {Dim::batch, 2}, {Dim::heads, 4}, {Dim::sequence, kTokens}, {Dim::keys, kTokens}};

[[nodiscard]] Shape rows(Dim heads, std::int64_t count) {
  return {{Dim::batch, 2}, {Dim::sequence, kTokens}, {heads, count}, {Dim::head_size, 3}};
}

[[nodiscard]] GradientCase scores(std::string name, std::int64_t groups) {
  GradientCase out;
  out.forward = operation_of(OperationKind::attention_scores, std::move(name));
  out.reads = {spread("q", rows(Dim::heads, 4)), spread("k", rows(Dim::kv_heads, groups))};
  out.results = {zeros("scores", kScores)};
  out.backward = OperationKind::attention_scores_backward;
  out.backward_reads = {x(0), x(1), gradient(0)};
  out.gradients_of = {0, 1};
  out.terms = static_cast<int>(kTokens * 4 / groups);
  return out;
}

[[nodiscard]] GradientCase softmax(std::string name, bool causal, VisibleKeys visible = {}) {
  GradientCase out;
  out.forward = operation_of(OperationKind::softmax, std::move(name));
  out.forward.causal = causal;
  out.forward.visible = visible;
  out.reads = {spread("scores", kScores)};
  out.results = {zeros("probabilities", kScores)};
  out.backward = OperationKind::softmax_backward;
  out.backward_reads = {y(0), gradient(0)};
  out.gradients_of = {0};
  out.terms = 2 * static_cast<int>(kTokens);
  return out;
}

[[nodiscard]] GradientCase context(std::string name, std::int64_t groups) {
  GradientCase out;
  out.forward = operation_of(OperationKind::attention_context, std::move(name));
  out.reads = {spread("probabilities", kScores), spread("v", rows(Dim::kv_heads, groups))};
  out.results = {zeros("o", rows(Dim::heads, 4))};
  out.backward = OperationKind::attention_context_backward;
  out.backward_reads = {x(0), x(1), gradient(0)};
  out.gradients_of = {0, 1};
  out.terms = static_cast<int>(kTokens * 4 / groups);
  return out;
}

/// Six tokens apart at most: exact buckets and logarithmic ones.
[[nodiscard]] GradientCase relative_bias(std::string name, bool causal) {
  const Shape scores{{Dim::batch, 2}, {Dim::heads, 3}, {Dim::sequence, 7}, {Dim::keys, 7}};
  GradientCase out;
  out.forward = operation_of(OperationKind::relative_bias, std::move(name));
  out.forward.causal = causal;
  out.reads = {spread("scores", scores), spread("table", {{Dim::positions, 8}, {Dim::heads, 3}})};
  out.results = {zeros("y", scores)};
  out.backward = OperationKind::relative_bias_backward;
  out.backward_reads = {gradient(0)};
  out.gradients_of = {1};
  out.terms = 2 * 7 * 7;
  return out;
}

}  // namespace

GradientCases unfused_attention_cases() {
  return {relative_bias("relative bias", false),
          relative_bias("relative bias of causal attention", true),
          scores("scores", 4),
          scores("scores of grouped queries", 2),
          softmax("softmax", false),
          softmax("causal softmax", true),
          softmax("softmax through a window", true, {.window = 2}),
          softmax("softmax over documents", true, {.documents = {2, 1}}),
          context("weighted values", 4),
          context("weighted values of grouped queries", 2)};
}

}  // namespace lockstep
