#include <fmt/format.h>

#include <array>
#include <optional>

#include "sim/execute/kernels/gemm_groups.hpp"
#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"

namespace lockstep {

namespace kernels {

namespace {

[[nodiscard]] bool has(const PartLayout& layout, Dim dim) {
  return layout.find(dim) != nullptr;
}

[[noreturn]] void refuse_alone(const KernelSettings& call, Dim dim, const char* where) {
  refuse(call, fmt::format("{} is in {} alone", to_string(dim), where));
}

}  // namespace

GemmGroups gemm_groups(const KernelSettings& call, const PartLayout& a, const PartLayout& b,
                       const PartLayout& y) {
  GemmGroups out;
  for (const PartAxis& axis : a.axes) {
    const bool in_b = has(b, axis.dim);
    const bool in_y = has(y, axis.dim);
    if (!in_b && !in_y) refuse_alone(call, axis.dim, "one operand");
    (in_b && in_y ? out.all : in_y ? out.rows : out.inner).push_back(axis);
  }
  for (const PartAxis& axis : b.axes) {
    if (has(a, axis.dim)) continue;
    if (!has(y, axis.dim)) refuse_alone(call, axis.dim, "one operand");
    out.columns.push_back(axis);
  }
  for (const PartAxis& axis : y.axes) {
    if (!has(a, axis.dim) && !has(b, axis.dim)) refuse_alone(call, axis.dim, "the result");
  }
  return out;
}

}  // namespace kernels

namespace lowering {

namespace {

/// The distance between neighbors where it is always the same.
[[nodiscard]] std::optional<std::int64_t> stride_of(const Table& places) {
  if (places.size() < 2) return 1;
  const std::int64_t stride = places[1] - places[0];
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i] - places[i - 1] != stride) return std::nullopt;
  }
  return stride;
}

[[nodiscard]] bool is_regular(const GemmPlaces& of) {
  const auto row = stride_of(of.rows);
  const auto column = stride_of(of.columns);
  return row && column && (*row == 1 || *column == 1);
}

[[nodiscard]] std::int64_t size_of(const Table& table) {
  return static_cast<std::int64_t>(table.size());
}

/// The dimensions of y from the first that the bias has on: along those before it is the same.
[[nodiscard]] std::vector<PartAxis> last_axes(const PartLayout& y, const PartLayout& bias) {
  std::size_t first = 0;
  while (first < y.axes.size() && bias.find(y.axes[first].dim) == nullptr) ++first;
  return {y.axes.begin() + static_cast<std::ptrdiff_t>(first), y.axes.end()};
}

}  // namespace

KernelLaunch& gemm(Lowering& to, const GemmOperand& a, const GemmOperand& b, const GemmOperand& y,
                   double factor) {
  const bool regular = is_regular(a.at) && is_regular(b.at) && is_regular(y.at);
  const std::int64_t count = size_of(y.at.rows) * size_of(y.at.columns) * size_of(y.at.batches);
  KernelLaunch& out = to.add(regular ? F::gemm : F::gemm_by_element, count, {a.of, b.of}, {y.of});
  out.sizes = {size_of(y.at.rows), size_of(y.at.columns), size_of(a.at.columns)};
  if (regular) out.sizes.push_back(size_of(y.at.batches));
  out.numbers = {factor};
  for (const GemmPlaces* at : {&a.at, &b.at, &y.at}) {
    if (regular) {
      out.sizes.push_back(*stride_of(at->rows));
      out.sizes.push_back(*stride_of(at->columns));
    } else {
      out.tables.push_back(std::make_shared<const Table>(at->rows));
      out.tables.push_back(std::make_shared<const Table>(at->columns));
    }
    out.tables.push_back(std::make_shared<const Table>(at->batches));
  }
  return out;
}

KernelLaunch& gemm(Lowering& to, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a,
                   const Matrix& b, const Matrix& y) {
  KernelLaunch& out = to.add(F::gemm, m * n, {a.of, b.of}, {y.of});
  out.sizes = {m, n, k, 1};
  out.numbers = {1};
  for (const Matrix* of : {&a, &b, &y}) {
    out.sizes.push_back(of->by_row);
    out.sizes.push_back(of->by_column);
    out.tables.push_back(std::make_shared<const Table>(Table{of->first}));
  }
  return out;
}

namespace {

void matmul(Lowering& to) {
  const PartLayout& a = to.in(Operand::a);
  const PartLayout& b = to.in(Operand::b);
  const PartLayout& y = to.to(Operand::y);
  const kernels::GemmGroups of = kernels::gemm_groups(to.call, a, b, y);
  gemm(to,
       {to.read(Operand::a),
        {places_along(a, of.rows), places_along(a, of.inner), places_along(a, of.all)}},
       {to.read(Operand::b),
        {places_along(b, of.inner), places_along(b, of.columns), places_along(b, of.all)}},
       {to.written(Operand::y),
        {places_along(y, of.rows), places_along(y, of.columns), places_along(y, of.all)}});
  if (!to.reads_it(Operand::bias) || !to.call.adds_bias) return;
  KernelLaunch& bias =
      to.add(F::add_bias, y.elements(), {to.read(Operand::bias)}, {to.written(Operand::y)});
  const std::vector<PartAxis> last = last_axes(y, to.in(Operand::bias));
  bias.tables = {table_of(places_along(to.in(Operand::bias), last))};
  bias.sizes = {1};
  for (const PartAxis& axis : last) bias.sizes[0] *= axis.length();
}

void bias_gradient(Lowering& to) {
  const PartLayout& g = to.in(gradient_of(Operand::y));
  const PartLayout& y = to.to(gradient_of(Operand::bias));
  std::vector<PartAxis> rest;
  for (const PartAxis& axis : g.axes) {
    if (y.find(axis.dim) == nullptr) rest.push_back(axis);
  }
  Table rows = places_along(g, rest);
  const PartSums sums = part_sums(to, F::sum_columns, size_of(rows), y.elements(), 1,
                                  {to.read(gradient_of(Operand::y))});
  to.out.kernels.back().launch.tables = {table_of(places_along(g, y.axes)),
                                         table_of(std::move(rows))};
  add_parts(to, sums, {to.written(gradient_of(Operand::bias))});
}

}  // namespace

std::span<const KindLowering> gemm_kinds() {
  static constexpr std::array kKinds{
      KindLowering{OperationKind::matmul, matmul},
      KindLowering{OperationKind::bias_gradient, bias_gradient},
  };
  return kKinds;
}

}  // namespace lowering

}  // namespace lockstep
