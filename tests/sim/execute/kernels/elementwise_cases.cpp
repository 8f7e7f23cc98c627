#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {

namespace {

const Shape kTokens{{Dim::batch, 2}, {Dim::sequence, 3}, {Dim::ffn, 5}};

[[nodiscard]] GradientCase activation(std::string name, ActivationFunction function) {
  GradientCase out;
  out.forward = operation_of(OperationKind::activation, std::move(name));
  out.forward.function = function;
  out.reads = {spread("x", kTokens)};
  out.results = {zeros("y", kTokens)};
  out.backward = OperationKind::activation_backward;
  out.backward_reads = {x(0), gradient(0)};
  out.gradients_of = {0};
  return out;
}

[[nodiscard]] GradientCase gated(std::string name, ActivationFunction function) {
  GradientCase out = activation(std::move(name), function);
  out.reads.push_back(spread("gate", kTokens));
  out.backward_reads = {x(0), x(1), gradient(0)};
  out.gradients_of = {0, 1};
  return out;
}

[[nodiscard]] Shape heads(std::int64_t size) {
  return {{Dim::batch, 2}, {Dim::sequence, 3}, {Dim::heads, 2}, {Dim::head_size, size}};
}

[[nodiscard]] GradientCase rotary(std::string name, std::int64_t size) {
  GradientCase out;
  out.forward = operation_of(OperationKind::rotary, std::move(name));
  out.reads = {spread("x", heads(size))};
  out.results = {zeros("y", heads(size))};
  out.backward = OperationKind::rotary_backward;
  out.backward_reads = {gradient(0)};
  out.gradients_of = {0};
  out.terms = 2;
  return out;
}

/// Four numbers of a key for all heads are turned and put behind three of each head's own.
[[nodiscard]] GradientCase shared_rotary() {
  GradientCase out = rotary("rotary of a shared key", 3);
  out.reads.push_back(spread("shared", {{Dim::batch, 2}, {Dim::sequence, 3}, {Dim::head_size, 4}}));
  out.results = {zeros("y", heads(7))};
  out.gradients_of = {0, 1};
  out.terms = 4;  // both heads' gradients of the shared key
  return out;
}

[[nodiscard]] GradientCase dropout() {
  GradientCase out;
  out.forward = operation_of(OperationKind::dropout, "dropout");
  out.forward.dropout = 0.3;
  out.settings.draw = 11;
  out.reads = {spread("x", kTokens)};
  out.results = {zeros("y", kTokens), zeros("mask", kTokens)};
  out.backward = OperationKind::dropout_backward;
  out.backward_reads = {gradient(0), y(1)};
  out.gradients_of = {0};
  return out;
}

/// A vector for each of two sequences of three tokens.
[[nodiscard]] GradientCase modulate(std::string name, bool shifted) {
  const Shape vector{{Dim::batch, 2}, {Dim::hidden, 4}};
  const Shape tokens{{Dim::batch, 2}, {Dim::sequence, 3}, {Dim::hidden, 4}};
  GradientCase out;
  out.forward = operation_of(OperationKind::modulate, std::move(name));
  out.reads = {spread("x", tokens), spread("scale", vector)};
  if (shifted) out.reads.push_back(spread("shift", vector));
  out.results = {zeros("y", tokens)};
  out.backward = OperationKind::modulate_backward;
  out.backward_reads = {x(0), x(1), gradient(0)};
  out.gradients_of = {0, 1};
  if (shifted) out.gradients_of.push_back(2);
  out.terms = 3 + 2;
  return out;
}

/// More tokens than rows, so that gradients of a row add up.
[[nodiscard]] GradientCase embedding() {
  const Shape tokens{{Dim::batch, 2}, {Dim::sequence, 5}};
  GradientCase out;
  out.forward = operation_of(OperationKind::embedding, "embedding");
  out.reads = {numbers("tokens", tokens, 4),
               spread("table", {{Dim::vocabulary, 4}, {Dim::hidden, 3}})};
  out.results = {zeros("y", {{Dim::batch, 2}, {Dim::sequence, 5}, {Dim::hidden, 3}})};
  out.backward = OperationKind::embedding_backward;
  out.backward_reads = {x(0), gradient(0)};
  out.gradients_of = {1};
  out.terms = 10;
  return out;
}

}  // namespace

GradientCases elementwise_cases() {
  return {activation("ReLU", ActivationFunction::relu),
          activation("GELU", ActivationFunction::gelu),
          activation("SiLU", ActivationFunction::silu),
          activation("squared ReLU", ActivationFunction::squared_relu),
          gated("SwiGLU", ActivationFunction::swiglu),
          gated("GeGLU", ActivationFunction::geglu),
          rotary("rotary", 4),
          rotary("rotary of an odd size", 5),
          shared_rotary(),
          dropout(),
          modulate("scale and shift of every sequence", true),
          modulate("gate of every sequence", false),
          embedding()};
}

}  // namespace lockstep
