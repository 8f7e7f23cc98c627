#include "tests/strategies/models/array.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace lockstep::testing {

namespace {

constexpr double kStep = 1e-5;

/// Counts through the cells of some dimensions, and tells where an array has them.
class Cells {
 public:
  explicit Cells(const std::vector<const std::vector<Extent>*>& shapes) {
    for (const auto* shape : shapes) {
      for (const Extent& extent : *shape) sizes_[extent.dim] = extent.size;
    }
    for (const auto& [dim, size] : sizes_) at_[dim] = 0;
  }
  [[nodiscard]] std::size_t in(const Array& array) const {
    std::int64_t index = 0;
    for (const Extent& extent : array.extents) index = index * extent.size + at_.at(extent.dim);
    return static_cast<std::size_t>(index);
  }
  /// False after the last.
  bool next() {
    for (auto& [dim, position] : at_) {
      if (++position < sizes_.at(dim)) return true;
      position = 0;
    }
    return false;
  }

 private:
  std::map<Dim, std::int64_t> sizes_{};
  std::map<Dim, std::int64_t> at_{};
};

double dot(const Array& a, const Array& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

}  // namespace

Array::Array(std::vector<Extent> shape) : extents{std::move(shape)} {
  std::int64_t count = 1;
  for (const Extent& extent : extents) count *= extent.size;
  values.assign(static_cast<std::size_t>(count), 0.0);
}

std::size_t Array::length(Dim dim) const {
  const auto found = std::find_if(extents.begin(), extents.end(),
                                  [dim](const Extent& extent) { return extent.dim == dim; });
  if (found == extents.end()) throw std::runtime_error{"no such dimension"};
  return static_cast<std::size_t>(found->size);
}

Array product(const Array& a, const Array& b, const std::vector<Extent>& shape) {
  Array out{shape};
  Cells cells{{&a.extents, &b.extents, &shape}};
  do {
    out.values[cells.in(out)] += a.values[cells.in(a)] * b.values[cells.in(b)];
  } while (cells.next());
  return out;
}

Array spread(const Array& x, const std::vector<Extent>& shape) {
  Array out{shape};
  Cells cells{{&x.extents, &shape}};
  do {
    out.values[cells.in(out)] += x.values[cells.in(x)];
  } while (cells.next());
  return out;
}

std::vector<Array> pulled_back(const Function& f, std::vector<Array> inputs, const Array& g) {
  std::vector<Array> out;
  for (Array& input : inputs) {
    Array gradient{input.extents};
    for (std::size_t i = 0; i < input.size(); ++i) {
      const double at = input.values[i];
      input.values[i] = at + kStep;
      const double above = dot(f(inputs), g);
      input.values[i] = at - kStep;
      const double below = dot(f(inputs), g);
      input.values[i] = at;
      gradient.values[i] = (above - below) / (2 * kStep);
    }
    out.push_back(std::move(gradient));
  }
  return out;
}

}  // namespace lockstep::testing
