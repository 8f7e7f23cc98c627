#include <algorithm>
#include <set>

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

/// What the forward operation read or wrote under a name. ReLU's gradient is known from its result
/// as well as from its input; the result is what the next operation keeps anyway.
[[nodiscard]] const Ref& saved(const Operation& forward, Operand operand) {
  const bool relu = forward.kind == Kind::activation &&
                    forward.function == ActivationFunction::relu && operand == Operand::x;
  if (relu) return write_of(forward, Operand::y);
  return reads(forward, operand) ? read_of(forward, operand) : write_of(forward, operand);
}

/// What the gradient of kind `kind` reads, as far as the forward operation has it.
[[nodiscard]] std::vector<Ref> gradient_reads(Reverse& reverse, const Operation& forward,
                                              Kind kind) {
  const OperandList& list = row_of(kind).reads;
  std::vector<Ref> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Operand operand = list[i];
    if (is_gradient(operand)) {
      out.push_back(reverse.gradient_of(write_of(forward, without_gradient(operand))));
    } else if (reads(forward, operand) || writes(forward, operand)) {
      out.push_back(saved(forward, operand));
    }
  }
  return out;
}

/// What the gradient of kind `kind` is the gradient of.
[[nodiscard]] std::vector<Ref> inputs_of(const Operation& forward, Kind kind) {
  const OperandList& list = row_of(kind).writes;
  std::vector<Ref> out;
  std::set<Operand> named;  // alternatives may name one again
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Operand operand = without_gradient(list[i]);
    if (reads(forward, operand) && named.insert(operand).second)
      out.push_back(read_of(forward, operand));
  }
  return out;
}

void by_names(Reverse& reverse, const Operation& forward) {
  const Kind kind = row_of(forward.kind).gradient;
  one_operation(reverse,
                reverse.made(forward, kind, "backward", gradient_reads(reverse, forward, kind)),
                inputs_of(forward, kind));
}

void added(Reverse& reverse, const Operation& forward) {
  by_names(reverse, forward);
  reverse.arrived(forward.reads.front(), reverse.gradient_of(write_of(forward, Operand::y)));
}

/// Gradients of the inputs of fused GEMMs. Products of one input add up in one tensor.
void gemm_inputs(Reverse& reverse, std::span<const Operation> gemms, int fused) {
  std::vector<Ref> inputs;
  std::vector<Ref> summands;
  for (std::size_t i = gemms.size(); i-- > 0;) {
    const Operation& gemm = gemms[i];
    const Ref& x = read_of(gemm, Operand::a);
    if (!reverse.wanted(x)) continue;
    const Ref gradient = reverse.operand(reverse.gradient_of(write_of(gemm, Operand::y)), gemm);
    Operation out =
        reverse.made(gemm, Kind::matmul, "input_gradient", {gradient, read_of(gemm, Operand::b)});
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
    LOCKSTEP_CHECK(reverse.is_weight(read_of(gemm, Operand::b)));
    const PrecisionRecipe& recipe = reverse.options().recipe;
    const Ref gradient = reverse.gradient_of(write_of(gemm, Operand::y));
    const Ref& x = read_of(gemm, Operand::a);
    Operation out = recipe.weight_gradients ? reverse.made(gemm, Kind::matmul, "weight_gradient",
                                                           {x, reverse.operand(gradient, gemm)})
                                            : reverse.made(gemm, Kind::matmul, "weight_gradient",
                                                           {reverse.source_of(x), gradient});
    if (!recipe.weight_gradients && out.math && is_narrow(*out.math))
      out.math = reverse.options().wide_math();
    out.fused = fused;
    out.accumulate = true;
    // The input has been cast forward, the gradient for that of the input, where there is one.
    const bool once = recipe.inputs_once && recipe.weight_gradients;
    out.at_hand = {once, once && reverse.wanted(x)};
    out.writes = {reverse.summand(read_of(gemm, Operand::b))};
    reverse.add(std::move(out));
  }
}

void gemm_biases(Reverse& reverse, std::span<const Operation> gemms) {
  for (std::size_t i = gemms.size(); i-- > 0;) {
    const Operation& gemm = gemms[i];
    if (!reads(gemm, Operand::bias)) continue;
    Operation out = reverse.made(gemm, Kind::bias_gradient, "bias_gradient",
                                 {reverse.gradient_of(write_of(gemm, Operand::y))});
    out.accumulate = true;
    out.writes = {reverse.summand(read_of(gemm, Operand::bias))};
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

void linear(Reverse& reverse, const Operation& forward) {
  one_operation(reverse,
                reverse.made(forward, forward.kind, "backward",
                             {reverse.gradient_of(write_of(forward, Operand::y))}),
                forward.reads);
}

/// Both summands have the gradient of the sum: nothing is computed.
void sum(Reverse& reverse, const Operation& forward) {
  const Ref gradient = reverse.gradient_of(write_of(forward, Operand::y));
  for (const Ref& read : forward.reads) {
    if (reverse.wanted(read)) reverse.arrived(read, gradient);
  }
}

/// What the gradient of the logarithms of the probabilities is but for the labels'.
[[nodiscard]] Ref zeros_like(Reverse& reverse, const Operation& forward, const Ref& logits) {
  const Ref zeros = reverse.new_gradient(logits, ".logarithm_gradient");
  Operation fill = reverse.made(forward, Kind::fill, "zeros", {});
  fill.writes = {zeros};
  reverse.add(std::move(fill));
  return zeros;
}

/// by_names with zeros for the gradients of logarithms, and the factor of the loss.
void loss(Reverse& reverse, const Operation& forward) {
  const auto& operations = reverse.block().forward;
  const auto end =
      std::find_if(operations.begin(), operations.end(), [&](const Operation& operation) {
        return operation.kind == Kind::loss &&
               read_of(operation, Operand::sum) == write_of(forward, Operand::sum);
      });
  LOCKSTEP_CHECK(end != operations.end());
  const Kind kind = row_of(forward.kind).gradient;
  std::vector<Ref> reads = gradient_reads(reverse, forward, kind);
  const bool of_logits = lockstep::reads(forward, Operand::logits);
  if (of_logits && reverse.options().form.loss == LossForm::wide_steps) {
    reads.push_back(zeros_like(reverse, forward, read_of(forward, Operand::logits)));
  }
  Operation out = reverse.made(forward, kind, "backward", std::move(reads));
  out.factor = end->factor;
  one_operation(reverse, std::move(out), inputs_of(forward, kind));
}

/// Two operations: what flows to the input may not be wanted.
void convolution(Reverse& reverse, const Operation& forward) {
  constexpr Kind kInput = Kind::convolution_input_grad;
  constexpr Kind kWeight = Kind::convolution_weight_grad;
  if (reverse.wanted(read_of(forward, Operand::x))) {
    one_operation(
        reverse,
        reverse.made(forward, kInput, "input_gradient", gradient_reads(reverse, forward, kInput)),
        inputs_of(forward, kInput));
  }
  Operation out =
      reverse.made(forward, kWeight, "weight_gradient", gradient_reads(reverse, forward, kWeight));
  out.accumulate = true;
  one_operation(reverse, std::move(out), inputs_of(forward, kWeight));
}

[[nodiscard]] Rule rule_of(GradientRule rule) {
  switch (rule) {
    case GradientRule::by_names:
      return by_names;
    case GradientRule::added:
      return added;
    case GradientRule::linear:
      return linear;
    case GradientRule::sum:
      return sum;
    case GradientRule::convolution:
      return convolution;
    case GradientRule::loss:
      return loss;
    case GradientRule::gemms:  // of several operations together
    case GradientRule::none:
      break;
  }
  return nullptr;
}

}  // namespace

bool casts_operand(const Operation& operation) {
  return operation.kind == Kind::cast && operation.math && is_narrow(*operation.math);
}

std::vector<Ref> differentiable_reads(const Operation& operation) {
  const OperationKindRow& row = row_of(operation.kind);
  if (row.gradient_rule == GradientRule::none) return {};
  const bool by_names =
      row.gradient_rule == GradientRule::by_names || row.gradient_rule == GradientRule::loss;
  return by_names ? inputs_of(operation, row.gradient) : operation.reads;
}

void reverse_rule(Reverse& reverse, std::span<const Operation> together) {
  const GradientRule of = row_of(together.front().kind).gradient_rule;
  if (of == GradientRule::gemms) return gemms_backward(reverse, together);
  const Rule rule = rule_of(of);
  LOCKSTEP_CHECK(rule != nullptr && together.size() == 1);
  rule(reverse, together.front());
}

}  // namespace lockstep
