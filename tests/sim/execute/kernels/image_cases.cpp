#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {

namespace {

[[nodiscard]] Shape image(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return {{Dim::batch, 2}, {Dim::height, height}, {Dim::width, width}, {Dim::channels, channels}};
}

/// Windows of 3 by 3 two apart, padded by one: 5 by 4 pixels become 3 by 2.
[[nodiscard]] GradientCase convolution(std::string name) {
  GradientCase out;
  out.forward = operation_of(OperationKind::convolution, std::move(name));
  out.forward.window = 3;
  out.forward.stride = 2;
  out.reads = {spread("x", image(5, 4, 2)),
               spread("weight", {{Dim::window, 9 * 2}, {Dim::channels, 3}})};
  out.results = {zeros("y", image(3, 2, 3))};
  out.terms = 9 * 3;  // taps of the window, of up to three channels
  return out;
}

[[nodiscard]] GradientCase by_input() {
  GradientCase out = convolution("convolution, by its input");
  out.backward = OperationKind::convolution_input_grad;
  out.backward_reads = {gradient(0), x(1)};
  out.gradients_of = {0};
  return out;
}

[[nodiscard]] GradientCase by_weight() {
  GradientCase out = convolution("convolution, by its weight");
  out.backward = OperationKind::convolution_weight_grad;
  out.backward_reads = {x(0), gradient(0)};
  out.gradients_of = {1};
  return out;
}

[[nodiscard]] GradientCase pool(std::string name, int window, const Shape& pooled) {
  GradientCase out;
  out.forward = operation_of(OperationKind::pool, std::move(name));
  out.forward.window = window;
  out.forward.stride = 2;
  out.reads = {spread("x", image(5, 4, 2))};
  out.results = {zeros("y", pooled)};
  out.backward = OperationKind::pool_backward;
  out.backward_reads = {x(0), y(0), gradient(0)};
  out.gradients_of = {0};
  out.terms = 5 * 4;
  return out;
}

/// Sixteen channels: two come from the frame after, two from the one before.
[[nodiscard]] GradientCase shift() {
  const Shape clip{
      {Dim::batch, 1}, {Dim::time, 4}, {Dim::height, 1}, {Dim::width, 2}, {Dim::channels, 16}};
  GradientCase out;
  out.forward = operation_of(OperationKind::temporal_shift, "temporal shift");
  out.reads = {spread("x", clip)};
  out.results = {zeros("y", clip)};
  out.backward = OperationKind::temporal_shift_backward;
  out.backward_reads = {gradient(0)};
  out.gradients_of = {0};
  return out;
}

[[nodiscard]] Shape tokens(std::int64_t count) {
  return {{Dim::batch, 3}, {Dim::sequence, count}, {Dim::hidden, 5}};
}

[[nodiscard]] GradientCase class_token() {
  GradientCase out;
  out.forward = operation_of(OperationKind::class_token, "class token before patches");
  out.reads = {spread("x", tokens(4)), spread("weight", {{Dim::hidden, 5}})};
  out.results = {zeros("y", tokens(5))};
  out.backward = OperationKind::class_token_backward;
  out.backward_reads = {gradient(0)};
  out.gradients_of = {0, 1};
  out.terms = 3;  // images
  return out;
}

[[nodiscard]] GradientCase pool_tokens(std::string name, int window) {
  GradientCase out;
  out.forward = operation_of(OperationKind::pool_tokens, std::move(name));
  out.forward.window = window;
  out.reads = {spread("x", tokens(4))};
  out.results = {zeros("y", {{Dim::batch, 3}, {Dim::hidden, 5}})};
  out.backward = OperationKind::pool_tokens_backward;
  out.backward_reads = {gradient(0)};
  out.gradients_of = {0};
  out.terms = 4;
  return out;
}

}  // namespace

GradientCases image_cases() {
  return {by_input(),
          by_weight(),
          pool("largest of windows that overlap", 3, image(3, 2, 2)),
          pool("mean of all pixels", 0, {{Dim::batch, 2}, {Dim::channels, 2}}),
          shift(),
          class_token(),
          pool_tokens("first token", 1),
          pool_tokens("mean of all tokens", 0)};
}

}  // namespace lockstep
