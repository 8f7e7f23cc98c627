#include <algorithm>
#include <array>

#include "sim/execute/kernels/lowering_parts.hpp"

namespace lockstep::lowering {

namespace {

/// Below 0 is padding; null if there is none.
[[nodiscard]] TablePtr words_of(const PartAxis& words) {
  const bool padded =
      std::any_of(words.at.begin(), words.at.end(), [](std::int64_t word) { return word < 0; });
  return padded ? std::make_shared<const Table>(words.at) : nullptr;
}

/// A kernel over the logits, by words of the vocabulary.
KernelLaunch& of_logits(Lowering& to, F function) {
  const PartLayout& logits = to.in(Operand::logits);
  const PartAxis& words = logits.axes.back();
  KernelLaunch& launch = to.each(function);
  launch.count = rows_of(logits);
  launch.sizes = {words.length(), words.size};
  launch.numbers = {to.operation().factor};
  launch.tables = {words_of(words), inverse_of(words)};
  return launch;
}

void embedding(Lowering& to) {
  const std::int64_t width = width_of(to.in(Operand::table));
  KernelLaunch& launch = to.each(F::look_up);
  launch.count = to.in(Operand::tokens).elements() * width;
  launch.sizes = {width, to.in(Operand::table).axes.front().size};
  launch.tables = {inverse_of(to.in(Operand::table).axes.front())};
}

void embedding_backward(Lowering& to) {
  to.clear(gradient_of(Operand::table));
  const std::int64_t width = width_of(to.to(gradient_of(Operand::table)));
  KernelLaunch& launch = to.each(F::look_up_gradient);
  launch.count = to.in(Operand::tokens).elements() * width;
  launch.sizes = {width, to.to(gradient_of(Operand::table)).axes.front().size};
  launch.tables = {inverse_of(to.to(gradient_of(Operand::table)).axes.front())};
}

void loss_maximum(Lowering& to) {
  of_logits(to, F::loss_maximum);
}

void loss_sum(Lowering& to) {
  of_logits(to, F::loss_sum);
}

void loss(Lowering& to) {
  KernelLaunch& launch = to.each(F::loss);
  launch.count = 1;
  launch.sizes = {to.in(Operand::sum).elements(), to.reads_it(Operand::maximum) ? 0 : 1};
  launch.numbers = {to.operation().factor};
}

void loss_backward(Lowering& to) {
  of_logits(to, F::loss_gradient).count = to.in(Operand::logits).elements();
}

void squared_error(Lowering& to) {
  to.each(F::squared_error).sizes = {width_of(to.in(Operand::x))};
}

void squared_error_backward(Lowering& to) {
  to.each(F::squared_error_gradient).numbers = {to.operation().factor};
}

}  // namespace

std::span<const KindLowering> loss_kinds() {
  static constexpr std::array kKinds{
      KindLowering{OperationKind::embedding, embedding},
      KindLowering{OperationKind::embedding_backward, embedding_backward},
      KindLowering{OperationKind::loss_maximum, loss_maximum},
      KindLowering{OperationKind::loss_sum, loss_sum},
      KindLowering{OperationKind::loss, loss},
      KindLowering{OperationKind::loss_backward, loss_backward},
      KindLowering{OperationKind::squared_error, squared_error},
      KindLowering{OperationKind::squared_error_backward, squared_error_backward},
  };
  return kKinds;
}

}  // namespace lockstep::lowering
