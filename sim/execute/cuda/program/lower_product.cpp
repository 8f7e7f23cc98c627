#include <algorithm>

#include "sim/execute/cuda/program/lowering_parts.hpp"

namespace lockstep::lowering {

namespace {

[[nodiscard]] bool has(const PartLayout& layout, Dim dim) {
  return layout.find(dim) != nullptr;
}

/// The dimensions of a product by who has them.
struct Groups {
  std::vector<PartAxis> all;      // a, b and y
  std::vector<PartAxis> rows;     // a and y
  std::vector<PartAxis> columns;  // b and y
  std::vector<PartAxis> inner;    // a and b: summed over
};

[[nodiscard]] Groups groups_of(const PartLayout& a, const PartLayout& b, const PartLayout& y) {
  Groups out;
  for (const PartAxis& axis : a.axes) {
    const bool in_b = has(b, axis.dim);
    const bool in_y = has(y, axis.dim);
    (in_b && in_y ? out.all : in_y ? out.rows : out.inner).push_back(axis);
  }
  for (const PartAxis& axis : b.axes) {
    if (!has(a, axis.dim)) out.columns.push_back(axis);
  }
  return out;
}

/// The distance between neighbours where it is always the same.
[[nodiscard]] std::optional<std::int64_t> stride_of(const Table& places) {
  if (places.size() < 2) return 1;
  const std::int64_t stride = places[1] - places[0];
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i] - places[i - 1] != stride) return std::nullopt;
  }
  return stride;
}

using Places = ProductPlaces;

[[nodiscard]] bool is_regular(const Places& of) {
  const auto row = stride_of(of.rows);
  const auto column = stride_of(of.columns);
  return row && column && (*row == 1 || *column == 1);
}

[[nodiscard]] std::int64_t size_of(const Table& table) {
  return static_cast<std::int64_t>(table.size());
}

[[nodiscard]] LoweredKernel gemm(const Places& a, const Places& b, const Places& y) {
  LoweredKernel out{
      launch_of(KernelFunction::gemm, size_of(y.rows) * size_of(y.columns) * size_of(y.batches)),
      {read(0), read(1)},
      {written(0)}};
  out.launch.sizes = {size_of(y.rows), size_of(y.columns), size_of(a.columns), size_of(y.batches)};
  for (const Places* of : {&a, &b, &y}) {
    out.launch.sizes.push_back(*stride_of(of->rows));
    out.launch.sizes.push_back(*stride_of(of->columns));
    out.launch.tables.push_back(std::make_shared<const Table>(of->batches));
  }
  return out;
}

[[nodiscard]] LoweredKernel product(const Places& a, const Places& b, const Places& y) {
  LoweredKernel out{
      launch_of(KernelFunction::product, size_of(y.rows) * size_of(y.columns) * size_of(y.batches)),
      {read(0), read(1)},
      {written(0)}};
  out.launch.sizes = {size_of(y.rows), size_of(y.columns), size_of(a.columns)};
  for (const Places* of : {&a, &b, &y}) {
    for (const Table* table : {&of->rows, &of->columns, &of->batches}) {
      out.launch.tables.push_back(std::make_shared<const Table>(*table));
    }
  }
  return out;
}

}  // namespace

LoweredKernel product_of(const Places& a, const Places& b, const Places& y) {
  const bool regular = is_regular(a) && is_regular(b) && is_regular(y);
  return regular ? gemm(a, b, y) : product(a, b, y);
}

Kernels matmul(const KernelSettings& call, const PartLayout& a, const PartLayout& b,
               const PartLayout& y, const PartLayout* bias, bool adds) {
  const Groups of = groups_of(a, b, y);
  const Places in_a{places_along(a, of.rows), places_along(a, of.inner), places_along(a, of.all)};
  const Places in_b{places_along(b, of.inner), places_along(b, of.columns),
                    places_along(b, of.all)};
  const Places in_y{places_along(y, of.rows), places_along(y, of.columns), places_along(y, of.all)};
  Kernels out{product_of(in_a, in_b, in_y)};
  out.back().launch.adds = adds;
  if (bias == nullptr || !call.adds_bias) return out;
  LoweredKernel add{launch_of(KernelFunction::add_bias, y.elements()), {read(2)}, {written(0)}};
  add.launch.tables = {table_of(places_along(*bias, y.axes))};
  out.push_back(std::move(add));
  return out;
}

Kernels bias_gradient(const PartLayout& g, const PartLayout& y, bool adds) {
  std::vector<PartAxis> kept;
  std::vector<PartAxis> rest;
  for (const PartAxis& axis : y.axes) kept.push_back(axis);
  for (const PartAxis& axis : g.axes) {
    if (!has(y, axis.dim)) rest.push_back(axis);
  }
  LoweredKernel out{launch_of(KernelFunction::sum_rest, y.elements()), {read(0)}, {written(0)}};
  Table others = places_along(g, rest);
  out.launch.sizes = {size_of(others)};
  out.launch.tables = {table_of(places_along(g, kept)), table_of(std::move(others))};
  out.launch.adds = adds;
  return {out};
}

}  // namespace lockstep::lowering
