#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kTokens = 4;

[[nodiscard]] Shape rows(Dim heads, std::int64_t count, Dim width, std::int64_t size) {
  return {{Dim::batch, 2}, {Dim::sequence, kTokens}, {heads, count}, {width, size}};
}

/// `groups` heads of keys for four of queries; values are shorter than keys.
[[nodiscard]] GradientCase attention(std::string name, bool causal, std::int64_t groups) {
  GradientCase out;
  out.forward = operation_of(OperationKind::attention, std::move(name));
  out.forward.causal = causal;
  out.reads = {spread("q", rows(Dim::heads, 4, Dim::head_size, 3)),
               spread("k", rows(Dim::kv_heads, groups, Dim::head_size, 3)),
               spread("v", rows(Dim::kv_heads, groups, Dim::value_size, 2))};
  out.results = {zeros("o", rows(Dim::heads, 4, Dim::value_size, 2)),
                 zeros("statistics", {{Dim::batch, 2}, {Dim::heads, 4}, {Dim::sequence, kTokens}})};
  out.backward = OperationKind::attention_backward;
  out.backward_reads = {x(0), x(1), x(2), y(0), y(1), gradient(0)};
  out.gradients_of = {0, 1, 2};
  // Forward: a score, a softmax, a mean of values; backward: the gradients of keys gather the
  // queries of every head of the group, each with a score and a mean again.
  out.terms = 3 + 2 * static_cast<int>(kTokens) + 3 + 2 + static_cast<int>(kTokens * 4 / groups);
  return out;
}

[[nodiscard]] GradientCase with_dropout() {
  GradientCase out = attention("attention with dropout", true, 4);
  out.forward.dropout = 0.25;
  out.settings.draw = 7;
  return out;
}

/// A logit per head that takes part of the softmax and has no value.
[[nodiscard]] GradientCase with_sinks() {
  GradientCase out = attention("attention with sinks", true, 2);
  out.reads.push_back(spread("sinks", {{Dim::heads, 4}}));
  out.backward_reads.push_back(x(3));
  out.gradients_of.push_back(3);
  out.terms += 2 * static_cast<int>(kTokens) * 2;  // all queries of both sequences, each a mean
  return out;
}

[[nodiscard]] GradientCase windowed(std::string name, VisibleKeys visible) {
  GradientCase out = attention(std::move(name), true, 2);
  out.forward.visible = visible;
  return out;
}

}  // namespace

GradientCases attention_cases() {
  return {
      attention("attention", false, 4),
      attention("causal attention", true, 4),
      attention("causal attention of grouped queries", true, 2),
      attention("attention of one head of keys", false, 1),
      with_dropout(),
      with_sinks(),
      windowed("attention through a window", {.window = 2}),
      windowed("attention in chunks", {.window = 2, .chunked = true}),
      windowed("attention over documents", {.documents = {2, 1}}),
      windowed("attention through a window over documents", {.window = 2, .documents = {3, 1}})};
}

}  // namespace lockstep
