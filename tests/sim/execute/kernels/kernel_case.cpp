#include "tests/sim/execute/kernels/kernel_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/execute/kernels/random_bits.hpp"

namespace lockstep {

namespace {

/// 0 .. count - 1 in an order drawn by name.
[[nodiscard]] std::vector<std::size_t> shuffled(const std::string& name, std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  const std::uint64_t seed = mixed(5, name);
  std::sort(out.begin(), out.end(),
            [&](std::size_t a, std::size_t b) { return mixed(seed, a) < mixed(seed, b); });
  return out;
}

}  // namespace

PartLayout whole(const Shape& shape) {
  PartLayout out;
  for (const auto& [dim, size] : shape) {
    PartAxis axis{dim, size, std::vector<std::int64_t>(static_cast<std::size_t>(size))};
    std::iota(axis.at.begin(), axis.at.end(), std::int64_t{0});
    out.axes.push_back(std::move(axis));
  }
  return out;
}

PartLayout cut(PartLayout layout, Dim dim, const std::vector<std::int64_t>& at) {
  for (PartAxis& axis : layout.axes) {
    if (axis.dim == dim) axis.at = at;
  }
  return layout;
}

Part zeros(std::string name, const Shape& shape) {
  Part out;
  out.tensor.name = std::move(name);
  out.layout = whole(shape);
  out.values.resize(static_cast<std::size_t>(out.layout.elements()), 0.0);
  return out;
}

Part spread(std::string name, const Shape& shape) {
  Part out = zeros(std::move(name), shape);
  const std::vector<std::size_t> order = shuffled(out.tensor.name, out.values.size());
  const auto n = static_cast<double>(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.values[i] = (2 * static_cast<double>(order[i]) + 1) / n - 1;
    if (out.values[i] == 0) out.values[i] = 1 / n;  // the middle one of an odd number
  }
  return out;
}

Part numbers(std::string name, const Shape& shape, std::uint64_t count) {
  Part out = zeros(std::move(name), shape);
  const std::uint64_t seed = mixed(6, out.tensor.name);
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] = static_cast<double>(mixed(seed, i) % count);
  }
  return out;
}

Part cut(const Part& part, Dim dim, const std::vector<std::int64_t>& at) {
  Part out{part.tensor, cut(part.layout, dim, at)};
  out.values.resize(static_cast<std::size_t>(out.layout.elements()), 0.0);
  copy_common(part.layout, part.values, out.layout, out.values, false);
  return out;
}

Part with_values(Part part, std::vector<double> values) {
  part.values = std::move(values);
  return part;
}

Operation operation_of(OperationKind kind, std::string name) {
  Operation out;
  out.kind = kind;
  out.name = std::move(name);
  return out;
}

double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out = std::max(out, std::abs(a[i] - b[i]));
  return out;
}

}  // namespace lockstep
