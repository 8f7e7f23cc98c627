#include <fmt/format.h>

#include <array>

#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"

namespace lockstep::lowering {

namespace {

[[nodiscard]] std::int64_t function_of(const Lowering& to) {
  return static_cast<std::int64_t>(to.operation().function);
}

/// Where numbers stand in heads' rows: in what is read, and in what is written.
struct Turned {
  std::int64_t from_width;
  std::int64_t to_width;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t count;
  bool shared = false;   // read from one row for all heads
  double direction = 1;  // 0: moved as they are
};

void turn(Lowering& to, const PartLayout& by_head, const Turned& of, LoweredOperand x,
          LoweredOperand y) {
  const std::int64_t heads = by_head.axes[2].length();
  const std::int64_t tokens = by_head.axes[1].length();
  const std::int64_t rows = by_head.axes[0].length() * tokens * heads;
  KernelLaunch& launch = to.add(F::rotate, rows * of.count, {x}, {y});
  launch.sizes = {heads,   tokens, of.from_width, of.to_width,
                  of.from, of.to,  of.count,      of.shared ? 1 : 0};
  launch.numbers = {of.direction};
  launch.tables = {table_of(by_head.axes[1].at)};
}

void check_widths(const Lowering& to, std::int64_t whole, std::int64_t own,
                  const PartLayout* shared) {
  if (whole == own + (shared == nullptr ? 0 : shared->axes[2].length())) return;
  kernels::refuse(to.call, "the parts of heads are not as long as heads");
}

/// Function, and width of the rows that have weights.
[[nodiscard]] std::vector<std::int64_t> activation_sizes(const Lowering& to) {
  const bool weighted = to.reads_it(Operand::weights);
  return {function_of(to), weighted ? width_of(to.in(Operand::x)) : 0};
}

void append_if_read(const Lowering& to, Operand operand, std::vector<LoweredOperand>& reads) {
  if (to.reads_it(operand)) reads.push_back(to.read(operand));
}

void activation(Lowering& to) {
  std::vector<LoweredOperand> reads{to.read(Operand::x)};
  append_if_read(to, Operand::gate, reads);
  append_if_read(to, Operand::weights, reads);
  KernelLaunch& launch = to.each(F::activate);
  launch.sizes = activation_sizes(to);
  to.out.kernels.back().reads = std::move(reads);
}

void activation_backward(Lowering& to) {
  constexpr Operand kWeights = gradient_of(Operand::weights);
  std::vector<LoweredOperand> reads{to.read(Operand::x), to.read(gradient_of(Operand::y))};
  append_if_read(to, Operand::gate, reads);
  if (to.writes_it(kWeights)) {
    to.add(F::activation_weight_gradient, to.to(kWeights).elements(), reads, {to.written(kWeights)})
        .sizes = activation_sizes(to);
  }
  append_if_read(to, Operand::weights, reads);
  std::vector<LoweredOperand> results{to.written(gradient_of(Operand::x))};
  if (to.writes_it(gradient_of(Operand::gate)))
    results.push_back(to.written(gradient_of(Operand::gate)));
  to.add(F::activate_gradient, to.to(gradient_of(Operand::x)).elements(), std::move(reads),
         std::move(results))
      .sizes = activation_sizes(to);
}

void dropout(Lowering& to) {
  std::int64_t sample = 1;
  for (const PartAxis& axis : to.in(Operand::x).axes) {
    if (axis.dim != Dim::batch) sample *= axis.size;
  }
  KernelLaunch& launch = to.each(F::drop);
  launch.sizes = {to.call.first_sample * sample};
  launch.numbers = {to.operation().dropout};
  launch.tables = {table_of(to.in(Operand::x).global_indices())};
  launch.draw = to.call.draw;
}

void dropout_backward(Lowering& to) {
  to.each(F::drop_gradient).numbers = {to.operation().dropout};
}

/// Every element of the result is in what is read; padding need not be.
void check_there(const Lowering& to, std::size_t number, const Table& places) {
  const PartLayout& y = *to.writes[number];
  const Table indices = y.global_indices();
  std::int64_t there = 0;
  for (std::size_t i = 0; i < places.size(); ++i) there += indices[i] >= 0 && places[i] >= 0;
  const std::int64_t wanted = y.filled();
  if (there == wanted) return;
  kernels::refuse(
      to.call, fmt::format("{} has {} of the {} values that {} takes",
                           to.read_tensors[number]->name, there, wanted, to.tensors[number]->name));
}

void move(Lowering& to, std::size_t number) {
  const PartLayout& x = *to.reads[number];
  const PartLayout& y = *to.writes[number];
  const bool alike = x.axes == y.axes && x.is_flat == y.is_flat && x.first_flat == y.first_flat &&
                     x.flat == y.flat;
  TablePtr places;
  if (!alike) {
    Table common = places_of_common(x, y);
    check_there(to, number, common);
    places = table_of(std::move(common));
  }
  KernelLaunch& launch =
      to.add(F::move, y.elements(), {read_number(number)}, {written_number(number)});
  launch.numbers = {to.operation().kind == OperationKind::scale ? to.operation().factor : 1};
  launch.tables = {nullptr, std::move(places)};
}

void moved(Lowering& to) {
  if (to.reads.size() != to.writes.size()) kernels::refuse(to.call, "writes more than it reads");
  for (std::size_t i = 0; i < to.writes.size(); ++i) move(to, i);
}

void rotary(Lowering& to) {
  const std::int64_t own = to.in(Operand::x).axes[3].length();
  const std::int64_t width = to.to(Operand::y).axes[3].length();
  const bool shared = to.reads_it(Operand::shared);
  check_widths(to, width, own, shared ? &to.in(Operand::shared) : nullptr);
  if (!shared)
    return turn(to, to.to(Operand::y), {own, width, 0, 0, own, false, 1}, to.read(Operand::x),
                to.written(Operand::y));
  turn(to, to.to(Operand::y), {own, width, 0, 0, own, false, 0}, to.read(Operand::x),
       to.written(Operand::y));
  turn(to, to.to(Operand::y), {width - own, width, 0, own, width - own, true, 1},
       to.read(Operand::shared), to.written(Operand::y));
}

void rotary_backward(Lowering& to) {
  const PartLayout& g = to.in(gradient_of(Operand::y));
  const std::int64_t own = to.to(gradient_of(Operand::x)).axes[3].length();
  const std::int64_t width = g.axes[3].length();
  const bool shared = to.writes_it(gradient_of(Operand::shared));
  check_widths(to, width, own, shared ? &to.to(gradient_of(Operand::shared)) : nullptr);
  turn(to, g, {width, own, 0, 0, own, false, shared ? 0.0 : -1.0}, to.read(gradient_of(Operand::y)),
       to.written(gradient_of(Operand::x)));
  if (!shared) return;
  const std::int64_t tokens = g.axes[0].length() * g.axes[1].length();
  KernelLaunch& launch =
      to.add(F::rotate_shared, tokens * (width - own), {to.read(gradient_of(Operand::y))},
             {to.written(gradient_of(Operand::shared))});
  launch.sizes = {g.axes[2].length(), g.axes[1].length(), width, own, width - own};
  launch.numbers = {-1};
  launch.tables = {table_of(g.axes[1].at)};
}

void add(Lowering& to) {
  to.each(F::add);
}

/// Tokens and width of [b, s, h], and whether it is shifted; without a shift scale is a gate, to
/// which nothing is added.
struct Modulation {
  Modulation(const PartLayout& layout, bool shifted)
      : sizes{layout.axes[1].length(), width_of(layout), shifted ? 1 : 0},
        more{shifted ? 1.0 : 0.0} {}

  std::vector<std::int64_t> sizes;
  double more;
};

void modulate(Lowering& to) {
  const Modulation of{to.in(Operand::x), to.reads_it(Operand::shift)};
  KernelLaunch& launch = to.each(F::modulate);
  launch.sizes = of.sizes;
  launch.numbers = {of.more};
}

void modulate_backward(Lowering& to) {
  constexpr Operand kShift = gradient_of(Operand::shift);
  const LoweredOperand g = to.read(gradient_of(Operand::y));
  const Modulation of{to.in(Operand::x), to.writes_it(kShift)};
  KernelLaunch& launch =
      to.add(F::modulate, to.in(Operand::x).elements(), {g, to.read(Operand::scale)},
             {to.written(gradient_of(Operand::x))});
  launch.sizes = of.sizes;
  launch.sizes.back() = 0;
  launch.numbers = {of.more};
  std::vector<LoweredOperand> results{to.written(gradient_of(Operand::scale))};
  if (to.writes_it(kShift)) results.push_back(to.written(kShift));
  to.add(F::modulation_gradient, to.in(Operand::scale).elements(), {to.read(Operand::x), g},
         std::move(results))
      .sizes = of.sizes;
}

void fill(Lowering& to) {
  for (std::size_t i = 0; i < to.writes.size(); ++i)
    to.add(F::fill, to.writes[i]->elements(), {}, {written_number(i)}).numbers = {0};
}

/// No number depends on it.
void check_finite(Lowering& /*to*/) {}

}  // namespace

std::span<const KindLowering> elementwise_kinds() {
  static constexpr std::array kKinds{
      KindLowering{OperationKind::activation, activation},
      KindLowering{OperationKind::activation_backward, activation_backward},
      KindLowering{OperationKind::weighted_activation, activation},
      KindLowering{OperationKind::weighted_activation_backward, activation_backward},
      KindLowering{OperationKind::rotary, rotary},
      KindLowering{OperationKind::rotary_backward, rotary_backward},
      KindLowering{OperationKind::dropout, dropout},
      KindLowering{OperationKind::dropout_backward, dropout_backward},
      KindLowering{OperationKind::add, add},
      KindLowering{OperationKind::modulate, modulate},
      KindLowering{OperationKind::modulate_backward, modulate_backward},
      KindLowering{OperationKind::fill, fill},
      KindLowering{OperationKind::scale, moved},
      KindLowering{OperationKind::cast, moved},
      KindLowering{OperationKind::check_finite, check_finite},
      KindLowering{OperationKind::slice, moved},
      KindLowering{OperationKind::host_copy, moved},
  };
  return kKinds;
}

}  // namespace lockstep::lowering
