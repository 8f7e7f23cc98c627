#include <algorithm>

#include "sim/execute/device_program/lowering/lowering_parts.hpp"

namespace lockstep::lowering {

namespace {

/// Below 0 is padding; null if there is none.
[[nodiscard]] TablePtr words_of(const PartAxis& words) {
  const bool padded =
      std::any_of(words.at.begin(), words.at.end(), [](std::int64_t word) { return word < 0; });
  return padded ? std::make_shared<const Table>(words.at) : nullptr;
}

[[nodiscard]] F function_of(OperationKind kind) {
  if (kind == OperationKind::loss_maximum) return F::loss_maximum;
  return kind == OperationKind::loss_sum ? F::loss_sum : F::loss_gradient;
}

}  // namespace

/// [numbers, table] -> [y]
void embedding(Lowering& to) {
  const std::int64_t width = width_of(to.in(1));
  KernelLaunch& launch = to.each(F::look_up);
  launch.count = to.in(0).elements() * width;
  launch.sizes = {width, to.in(1).axes.front().size};
  launch.tables = {inverse_of(to.in(1).axes.front())};
}

/// [numbers, g_y] -> [g_table]
void embedding_backward(Lowering& to) {
  to.clear(0);
  const std::int64_t width = width_of(to.to(0));
  KernelLaunch& launch = to.each(F::look_up_gradient);
  launch.count = to.in(0).elements() * width;
  launch.sizes = {width, to.to(0).axes.front().size};
  launch.tables = {inverse_of(to.to(0).axes.front())};
}

void losses(Lowering& to) {
  const OperationKind kind = to.operation().kind;
  if (kind == OperationKind::loss) {
    KernelLaunch& launch = to.each(F::loss);
    launch.count = 1;
    launch.sizes = {to.in(0).elements()};
    launch.numbers = {to.operation().factor};
    return;
  }
  const PartAxis& words = to.in(0).axes.back();
  KernelLaunch& launch = to.each(function_of(kind));
  launch.count = kind == OperationKind::loss_backward ? to.in(0).elements() : rows_of(to.in(0));
  launch.sizes = {words.length(), words.size};
  launch.numbers = {to.operation().factor};
  launch.tables = {words_of(words), inverse_of(words)};
}

}  // namespace lockstep::lowering
