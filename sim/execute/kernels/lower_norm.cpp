#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"

namespace lockstep::lowering {

namespace {

constexpr double kEpsilon = 1e-5;  // of norms
constexpr std::int64_t kRowsOfPart = 256;
constexpr std::int64_t kMostParts = 64;

[[nodiscard]] bool is_centred(const Lowering& to) {
  return to.operation().norm == Normalization::layer;
}

[[nodiscard]] std::int64_t parts_of(std::int64_t rows) {
  return std::clamp<std::int64_t>(rows / kRowsOfPart, 1, kMostParts);
}

/// Numbers that are normalized together: those of the last dimensions, as many as the operation
/// sums over. They are whole.
[[nodiscard]] std::int64_t normalized(const Lowering& to) {
  const std::vector<PartAxis>& axes = to.in(Operand::x).axes;
  const std::size_t last = std::max<std::size_t>(1, to.operation().over.size());
  std::int64_t out = 1;
  for (std::size_t i = axes.size() - last; i < axes.size(); ++i) {
    kernels::check_whole(to.call, to.tensor_in(Operand::x), axes[i]);
    out *= axes[i].length();
  }
  return out;
}

/// As many as numbers are normalized together, or as many for every head; 0: none.
[[nodiscard]] std::int64_t gains_of(const Lowering& to, std::int64_t width) {
  if (!to.reads_it(Operand::gain)) return 0;
  const std::int64_t gains = to.in(Operand::gain).elements();
  const bool biased = to.reads_it(Operand::bias) || to.writes_it(gradient_of(Operand::bias));
  if (gains == width || (gains % width == 0 && !biased)) return gains;
  kernels::refuse(to.call, fmt::format("{} gains{} where {} numbers are normalized together", gains,
                                       biased ? " and biases" : "", width));
}

void channel_statistics(Lowering& to, const PartSums& sums, bool of_squares) {
  KernelLaunch& launch =
      to.add(F::channel_statistics, sums.columns, {sums.of}, {to.written(Operand::statistics)});
  launch.sizes = {sums.columns, sums.parts, sums.rows, of_squares ? 1 : 0};
  launch.numbers = {kEpsilon};
}

/// Sums that become the gradients of `gains` gains and biases. Statistics are of columns, or of
/// `width` numbers each.
[[nodiscard]] PartSums gain_sums(Lowering& to, std::int64_t gains, bool of_columns, bool centred,
                                 std::int64_t width) {
  const PartSums out = part_sums(
      to, F::normalise_gain_gradient, to.in(Operand::x).elements() / gains, gains, 2,
      {to.read(Operand::x), to.read(Operand::statistics), to.read(gradient_of(Operand::y))});
  to.out.kernels.back().launch.sizes = {out.rows,        out.columns,        out.parts,
                                        centred ? 1 : 0, of_columns ? 1 : 0, width};
  return out;
}

}  // namespace

PartSums part_sums(Lowering& to, F function, std::int64_t rows, std::int64_t columns,
                   std::int64_t sums, std::vector<LoweredOperand> from) {
  constexpr std::int64_t kTogether = 32;  // kernels::kColumnsTogether
  const std::int64_t parts = parts_of(rows);
  const PartSums out{to.scratch(sums * parts * columns), rows, columns, parts};
  KernelLaunch& launch =
      to.add(function, parts * ((columns + kTogether - 1) / kTogether), std::move(from), {out.of});
  launch.sizes = {rows, columns, parts};
  launch.scratch = sums * kTeamLanes;
  return out;
}

KernelLaunch& add_parts(Lowering& to, const PartSums& sums, std::vector<LoweredOperand> results) {
  const bool two = results.size() > 1;
  KernelLaunch& launch = to.add(F::add_parts, sums.columns, {sums.of}, std::move(results));
  launch.sizes = {sums.columns, sums.parts, two ? 1 : 0};
  return launch;
}

namespace {

void normalization(Lowering& to) {
  const std::int64_t width = normalized(to);
  KernelLaunch& launch = to.each(F::normalise);
  launch.count = to.in(Operand::x).elements() / width;
  launch.sizes = {width, is_centred(to) ? 1 : 0, to.reads_it(Operand::bias) ? 1 : 0,
                  gains_of(to, width)};
  launch.numbers = {kEpsilon};
}

void normalization_backward(Lowering& to) {
  const std::int64_t width = normalized(to);
  const std::int64_t gains = gains_of(to, width);
  const LoweredOperand gain = to.read(gains > 0 ? Operand::gain : Operand::x);
  KernelLaunch& input = to.add(
      F::normalise_input_gradient, to.in(Operand::x).elements() / width,
      {to.read(Operand::x), gain, to.read(Operand::statistics), to.read(gradient_of(Operand::y))},
      {to.written(gradient_of(Operand::x))});
  input.sizes = {width, is_centred(to) ? 1 : 0, gains};
  if (gains == 0) return;
  std::vector<LoweredOperand> results{to.written(gradient_of(Operand::gain))};
  if (to.writes_it(gradient_of(Operand::bias))) {
    results.push_back(to.written(gradient_of(Operand::bias)));
  }
  add_parts(to, gain_sums(to, gains, false, is_centred(to), width), std::move(results));
}

/// [x, gain, bias] -> [y, statistics], over all rows: the mean, then squares around it.
void batch_norm(Lowering& to) {
  const PartLayout& x = to.in(Operand::x);
  const PartSums sums =
      part_sums(to, F::sum_columns, rows_of(x), width_of(x), 1, {to.read(Operand::x)});
  Table rows;
  for (std::int64_t row = 0; row < sums.rows; ++row) rows.push_back(row * sums.columns);
  to.out.kernels.back().launch.tables = {nullptr, table_of(std::move(rows))};
  channel_statistics(to, sums, false);
  channel_statistics(to,
                     part_sums(to, F::square_channels, sums.rows, sums.columns, 1,
                               {to.read(Operand::x), to.written(Operand::statistics)}),
                     true);
  to.add(F::normalise_channels, x.elements(),
         {to.read(Operand::x), to.read(Operand::gain), to.read(Operand::bias),
          to.written(Operand::statistics)},
         {to.written(Operand::y)})
      .sizes = {sums.columns};
}

void batch_norm_backward(Lowering& to) {
  const PartSums sums = gain_sums(to, width_of(to.in(Operand::x)), true, true, 1);
  const LoweredOperand gain = to.scratch(sums.columns);
  const LoweredOperand bias = to.scratch(sums.columns);
  add_parts(to, sums, {gain, bias});
  add_parts(to, sums,
            {to.written(gradient_of(Operand::gain)), to.written(gradient_of(Operand::bias))});
  to.add(F::normalise_channels_gradient, to.in(Operand::x).elements(),
         {to.read(Operand::x), to.read(Operand::gain), to.read(Operand::statistics),
          to.read(gradient_of(Operand::y)), gain, bias},
         {to.written(gradient_of(Operand::x))})
      .sizes = {sums.columns, sums.rows};
}

}  // namespace

std::span<const KindLowering> norm_kinds() {
  static constexpr std::array kKinds{
      KindLowering{OperationKind::normalization, normalization},
      KindLowering{OperationKind::normalization_backward, normalization_backward},
      KindLowering{OperationKind::batch_norm, batch_norm},
      KindLowering{OperationKind::batch_norm_backward, batch_norm_backward},
  };
  return kKinds;
}

}  // namespace lockstep::lowering
