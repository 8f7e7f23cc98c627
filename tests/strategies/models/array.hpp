#pragma once

#include <functional>
#include <vector>

#include "sim/program/tensor.hpp"

namespace lockstep::testing {

/// A whole tensor of numbers, row-major.
struct Array {
  std::vector<Extent> extents{};
  std::vector<double> values{};

  explicit Array(std::vector<Extent> shape = {});
  [[nodiscard]] std::size_t size() const { return values.size(); }
  /// Length of the last dimension, and how many rows of it there are.
  [[nodiscard]] std::size_t row() const { return static_cast<std::size_t>(extents.back().size); }
  [[nodiscard]] std::size_t rows() const { return size() / row(); }
  [[nodiscard]] std::size_t length(Dim dim) const;
};

/// Adds up a * b over all dimensions that `shape` has not.
[[nodiscard]] Array product(const Array& a, const Array& b, const std::vector<Extent>& shape);

/// x added up over all dimensions that `shape` has not, or repeated along those that x has not.
[[nodiscard]] Array spread(const Array& x, const std::vector<Extent>& shape);

using Function = std::function<Array(const std::vector<Array>&)>;

/// The gradients of sum(g * f(inputs)) by each of `inputs`, by central differences.
[[nodiscard]] std::vector<Array> pulled_back(const Function& f, std::vector<Array> inputs,
                                             const Array& g);

}  // namespace lockstep::testing
