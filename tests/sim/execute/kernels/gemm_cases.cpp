#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {

namespace {

constexpr OperationKind kGemm = OperationKind::matmul;

const Shape kInput{{Dim::batch, 2}, {Dim::sequence, 3}, {Dim::hidden, 4}};
const Shape kOutput{{Dim::batch, 2}, {Dim::sequence, 3}, {Dim::ffn, 5}};
const Shape kWeight{{Dim::hidden, 4}, {Dim::ffn, 5}};

[[nodiscard]] GradientCase linear(std::string name, bool has_bias) {
  GradientCase out;
  out.forward = operation_of(kGemm, std::move(name));
  out.reads = {spread("x", kInput), spread("weight", kWeight)};
  if (has_bias) out.reads.push_back(spread("bias", {{Dim::ffn, 5}}));
  out.results = {zeros("y", kOutput)};
  out.backward = kGemm;
  return out;
}

[[nodiscard]] GradientCase by_input() {
  GradientCase out = linear("linear, by its input", false);
  out.backward_reads = {gradient(0), x(1)};
  out.gradients_of = {0};
  out.terms = 5;
  return out;
}

[[nodiscard]] GradientCase by_weight() {
  GradientCase out = linear("linear, by its weight", false);
  out.backward_reads = {x(0), gradient(0)};
  out.gradients_of = {1};
  out.terms = 6;  // batch * sequence
  return out;
}

[[nodiscard]] GradientCase by_bias() {
  GradientCase out = linear("linear, by its bias", true);
  out.backward = OperationKind::bias_gradient;
  out.backward_reads = {gradient(0)};
  out.gradients_of = {2};
  out.terms = 6;
  return out;
}

/// A GEMM for each of the experts, with dimensions in another order: [expert, hidden, ffn] by
/// [slot, expert, hidden].
[[nodiscard]] GradientCase experts() {
  GradientCase out;
  out.forward = operation_of(kGemm, "a product for each expert");
  out.reads = {spread("weights", {{Dim::expert, 3}, {Dim::hidden, 4}, {Dim::ffn, 2}}),
               spread("slots", {{Dim::slot, 5}, {Dim::expert, 3}, {Dim::hidden, 4}})};
  out.results = {zeros("y", {{Dim::expert, 3}, {Dim::slot, 5}, {Dim::ffn, 2}})};
  out.backward = kGemm;
  out.backward_reads = {gradient(0), x(1)};
  out.gradients_of = {0};
  out.terms = 5;
  return out;
}

/// Two dimensions are summed over, as where heads are projected back.
[[nodiscard]] GradientCase heads() {
  GradientCase out;
  out.forward = operation_of(kGemm, "a product over heads and their sizes");
  out.reads = {
      spread("o", {{Dim::batch, 1}, {Dim::sequence, 3}, {Dim::heads, 2}, {Dim::head_size, 3}}),
      spread("projection", {{Dim::heads, 2}, {Dim::head_size, 3}, {Dim::hidden, 4}})};
  out.results = {zeros("y", {{Dim::batch, 1}, {Dim::sequence, 3}, {Dim::hidden, 4}})};
  out.backward = kGemm;
  out.backward_reads = {gradient(0), x(1)};
  out.gradients_of = {0};
  out.terms = 6;
  return out;
}

}  // namespace

GradientCases gemm_cases() {
  return {by_input(), by_weight(), by_bias(), experts(), heads()};
}

}  // namespace lockstep
