#include <algorithm>

#include "sim/base/check.hpp"
#include "strategies/models/reverse.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;
using Rule = void (*)(Reverse&, const Operation&);

/// One gradient operation whose results are the summands of `inputs`, in this order.
void one_operation(Reverse& reverse, Operation operation, const std::vector<Ref>& inputs) {
  for (const Ref& input : inputs) operation.writes.push_back(reverse.summand(input));
  const std::vector<Ref> summands = operation.writes;
  reverse.add(std::move(operation));
  for (std::size_t i = 0; i < inputs.size(); ++i) reverse.arrived(inputs[i], summands[i]);
}

/// [inputs ..., saved ..., g_y] -> [g_inputs ...].
void with_gradient(Reverse& reverse, const Operation& forward, Kind kind, std::vector<Ref> saved,
                   const std::vector<Ref>& inputs) {
  saved.push_back(reverse.gradient_of(forward.writes.front()));
  one_operation(reverse, reverse.made(forward, kind, "backward", std::move(saved)), inputs);
}

/// Gradients of the inputs of fused GEMMs. Products of one input add up in one tensor.
void gemm_inputs(Reverse& reverse, std::span<const Operation> gemms, int fused) {
  std::vector<Ref> inputs;
  std::vector<Ref> summands;
  for (std::size_t i = gemms.size(); i-- > 0;) {
    const Operation& gemm = gemms[i];
    const Ref& x = gemm.reads[0];
    if (!reverse.wanted(x)) continue;
    Operation out = reverse.made(gemm, Kind::matmul, "input_gradient",
                                 {reverse.gradient_of(gemm.writes[0]), gemm.reads[1]});
    out.fused = fused;
    out.at_hand = {false, gemm.at_hand[1]};
    const auto found = std::find(inputs.begin(), inputs.end(), x);
    out.accumulate = found != inputs.end();
    if (!out.accumulate) {
      inputs.push_back(x);
      summands.push_back(reverse.summand(x));
    }
    out.writes = {out.accumulate ? summands[static_cast<std::size_t>(found - inputs.begin())]
                                 : summands.back()};
    reverse.add(std::move(out));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) reverse.arrived(inputs[i], summands[i]);
}

void gemm_weights(Reverse& reverse, std::span<const Operation> gemms, int fused) {
  for (std::size_t i = gemms.size(); i-- > 0;) {
    const Operation& gemm = gemms[i];
    LOCKSTEP_CHECK(reverse.is_weight(gemm.reads[1]));
    Operation out = reverse.made(gemm, Kind::matmul, "weight_gradient",
                                 {gemm.reads[0], reverse.gradient_of(gemm.writes[0])});
    out.fused = fused;
    out.accumulate = true;
    // The input has been cast forward, the gradient for that of the input, where there is one.
    const bool once = reverse.form().fp8_casts.inputs_once;
    out.at_hand = {once, once && reverse.wanted(gemm.reads[0])};
    out.writes = {reverse.summand(gemm.reads[1])};
    reverse.add(std::move(out));
  }
}

void gemm_biases(Reverse& reverse, std::span<const Operation> gemms) {
  for (std::size_t i = gemms.size(); i-- > 0;) {
    const Operation& gemm = gemms[i];
    if (gemm.reads.size() < 3) continue;
    Operation out = reverse.made(gemm, Kind::bias_gradient, "bias_gradient",
                                 {reverse.gradient_of(gemm.writes[0])});
    out.accumulate = true;
    out.writes = {reverse.summand(gemm.reads[2])};
    reverse.add(std::move(out));
  }
}

void gemms_backward(Reverse& reverse, std::span<const Operation> gemms) {
  const bool several = gemms.size() > 1;
  const int sign = gemms.front().fused < 0 ? -1 : 1;
  const int inputs = several ? sign * reverse.next_fused() : 0;
  const int weights = several ? sign * reverse.next_fused() : 0;
  gemm_inputs(reverse, gemms, inputs);
  gemm_weights(reverse, gemms, weights);
  gemm_biases(reverse, gemms);
}

void attention(Reverse& reverse, const Operation& forward) {
  std::vector<Ref> reads{forward.reads.begin(), forward.reads.begin() + 3};
  reads.insert(reads.end(), forward.writes.begin(), forward.writes.end());
  reads.push_back(reverse.gradient_of(forward.writes.front()));
  reads.insert(reads.end(), forward.reads.begin() + 3, forward.reads.end());  // sinks
  one_operation(reverse,
                reverse.made(forward, Kind::attention_backward, "backward", std::move(reads)),
                forward.reads);
}

void scores(Reverse& reverse, const Operation& forward) {
  with_gradient(reverse, forward, Kind::attention_scores_backward, forward.reads, forward.reads);
}

void softmax(Reverse& reverse, const Operation& forward) {
  with_gradient(reverse, forward, Kind::softmax_backward, forward.writes, forward.reads);
}

void context(Reverse& reverse, const Operation& forward) {
  with_gradient(reverse, forward, Kind::attention_context_backward, forward.reads, forward.reads);
}

/// [x, gain, statistics, g_y] -> [g_x, g_gain, (g_bias)], also of batch norm.
void normalization(Reverse& reverse, const Operation& forward) {
  const Kind kind =
      forward.kind == Kind::batch_norm ? Kind::batch_norm_backward : Kind::normalization_backward;
  with_gradient(reverse, forward, kind, {forward.reads[0], forward.reads[1], forward.writes[1]},
                forward.reads);
}

/// ReLU's gradient is known from its result as well as from its input; the result is what the next
/// operation keeps anyway.
void activation(Reverse& reverse, const Operation& forward) {
  const bool relu = forward.function == ActivationFunction::relu;
  with_gradient(reverse, forward, Kind::activation_backward, relu ? forward.writes : forward.reads,
                forward.reads);
}

void rotary(Reverse& reverse, const Operation& forward) {
  with_gradient(reverse, forward, Kind::rotary_backward, {}, forward.reads);
}

void temporal_shift(Reverse& reverse, const Operation& forward) {
  with_gradient(reverse, forward, Kind::temporal_shift_backward, {}, forward.reads);
}

void linear(Reverse& reverse, const Operation& forward) {
  with_gradient(reverse, forward, forward.kind, {}, forward.reads);
}

void dropout(Reverse& reverse, const Operation& forward) {
  Operation out = reverse.made(forward, Kind::dropout_backward, "backward",
                               {reverse.gradient_of(forward.writes[0]), forward.writes[1]});
  one_operation(reverse, std::move(out), forward.reads);
}

/// Both summands have the gradient of the sum: nothing is computed.
void sum(Reverse& reverse, const Operation& forward) {
  const Ref gradient = reverse.gradient_of(forward.writes[0]);
  for (const Ref& read : forward.reads) {
    if (reverse.wanted(read)) reverse.arrived(read, gradient);
  }
}

void embedding(Reverse& reverse, const Operation& forward) {
  with_gradient(reverse, forward, Kind::embedding_backward, {forward.reads[0]}, {forward.reads[1]});
}

/// What the gradient of the logarithms of the probabilities is but for the labels'.
[[nodiscard]] Ref zeros_like(Reverse& reverse, const Operation& forward, const Ref& logits) {
  const Ref zeros = reverse.new_gradient(logits, ".logarithm_gradient");
  Operation fill = reverse.made(forward, Kind::fill, "zeros", {});
  fill.writes = {zeros};
  reverse.add(std::move(fill));
  return zeros;
}

/// [logits, labels, maximum, sum, (zeros)] -> [g_logits], times the factor of the loss.
void loss(Reverse& reverse, const Operation& forward) {
  const auto& operations = reverse.block().forward;
  const auto end =
      std::find_if(operations.begin(), operations.end(),
                   [](const Operation& operation) { return operation.kind == Kind::loss; });
  LOCKSTEP_CHECK(end != operations.end());
  std::vector<Ref> reads = forward.reads;
  reads.push_back(forward.writes[0]);
  if (reverse.form().loss == LossForm::wide_steps) {
    reads.push_back(zeros_like(reverse, forward, forward.reads[0]));
  }
  Operation out = reverse.made(forward, Kind::loss_backward, "backward", std::move(reads));
  out.factor = end->factor;
  one_operation(reverse, std::move(out), {forward.reads[0]});
}

void router(Reverse& reverse, const Operation& forward) {
  with_gradient(reverse, forward, Kind::router_backward,
                {forward.reads[0], forward.writes[0], forward.writes[1]}, forward.reads);
}

void dispatch(Reverse& reverse, const Operation& forward) {
  Operation out = reverse.made(forward, Kind::dispatch_backward, "backward",
                               {reverse.gradient_of(forward.writes[0]), forward.reads[1]});
  one_operation(reverse, std::move(out), {forward.reads[0]});
}

void combine(Reverse& reverse, const Operation& forward) {
  with_gradient(reverse, forward, Kind::combine_backward, forward.reads,
                {forward.reads[0], forward.reads[1]});
}

void convolution(Reverse& reverse, const Operation& forward) {
  const Ref gradient = reverse.gradient_of(forward.writes[0]);
  const Ref& x = forward.reads[0];
  const Ref& weight = forward.reads[1];
  if (reverse.wanted(x)) {
    one_operation(
        reverse,
        reverse.made(forward, Kind::convolution_input_grad, "input_gradient", {gradient, weight}),
        {x});
  }
  Operation out =
      reverse.made(forward, Kind::convolution_weight_grad, "weight_gradient", {x, gradient});
  out.accumulate = true;
  one_operation(reverse, std::move(out), {weight});
}

void pool(Reverse& reverse, const Operation& forward) {
  with_gradient(reverse, forward, Kind::pool_backward, {forward.reads[0], forward.writes[0]},
                forward.reads);
}

[[nodiscard]] Rule rule_of(Kind kind) {
  switch (kind) {
    case Kind::attention:
      return attention;
    case Kind::attention_scores:
      return scores;
    case Kind::softmax:
      return softmax;
    case Kind::attention_context:
      return context;
    case Kind::normalization:
    case Kind::batch_norm:
      return normalization;
    case Kind::activation:
      return activation;
    case Kind::rotary:
      return rotary;
    case Kind::temporal_shift:
      return temporal_shift;
    case Kind::scale:
    case Kind::cast:
      return linear;
    case Kind::dropout:
      return dropout;
    case Kind::add:
      return sum;
    case Kind::embedding:
      return embedding;
    case Kind::loss_sum:
      return loss;
    case Kind::router:
      return router;
    case Kind::dispatch:
      return dispatch;
    case Kind::combine:
      return combine;
    case Kind::convolution:
      return convolution;
    case Kind::pool:
      return pool;
    default:
      return nullptr;
  }
}

/// How many of what it reads, from `first` on, gradients flow back to.
struct Range {
  std::size_t first = 0;
  std::size_t count = 0;
};

[[nodiscard]] Range differentiable(const Operation& operation) {
  switch (operation.kind) {
    case Kind::loss:
    case Kind::loss_maximum:
    case Kind::fill:
      return {};
    case Kind::embedding:
      return {1, 1};
    case Kind::loss_sum:
    case Kind::dispatch:
      return {0, 1};
    case Kind::combine:
      return {0, 2};
    default:
      return {0, operation.reads.size()};
  }
}

}  // namespace

std::vector<Ref> differentiable_reads(const Operation& operation) {
  const auto [first, count] = differentiable(operation);
  const auto begin = operation.reads.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

void reverse_rule(Reverse& reverse, std::span<const Operation> together) {
  if (together.front().kind == Kind::matmul) return gemms_backward(reverse, together);
  const Rule rule = rule_of(together.front().kind);
  LOCKSTEP_CHECK(rule != nullptr && together.size() == 1);
  rule(reverse, together.front());
}

}  // namespace lockstep
