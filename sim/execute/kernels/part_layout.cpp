#include "sim/execute/kernels/part_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/math.hpp"
#include "sim/execute/kernels/execution_error.hpp"

namespace lockstep {

namespace {

/// Appends `count` indices from `first` on; those beyond `size` are padding.
void append(PartAxis& axis, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i) {
    axis.at.push_back(i < axis.size ? i : PartAxis::kPadding);
  }
}

struct Pair {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// The local indices of what both have.
[[nodiscard]] std::vector<Pair> common_indices(const PartAxis& from, const PartAxis& to) {
  std::vector<std::int64_t> where(static_cast<std::size_t>(from.size), -1);
  for (std::size_t i = 0; i < from.at.size(); ++i) {
    if (from.at[i] >= 0) where[static_cast<std::size_t>(from.at[i])] = static_cast<std::int64_t>(i);
  }
  std::vector<Pair> out;
  for (std::size_t i = 0; i < to.at.size(); ++i) {
    if (to.at[i] < 0) continue;
    const std::int64_t at = where[static_cast<std::size_t>(to.at[i])];
    if (at >= 0) out.push_back({at, static_cast<std::int64_t>(i)});
  }
  return out;
}

template <class Real>
class Copy {
 public:
  Copy(const PartLayout& from, const std::vector<Real>& values, const PartLayout& to,
       std::vector<Real>& into, bool add)
      : from_{from}, values_{values}, to_{to}, into_{into}, add_{add} {}

  [[nodiscard]] std::int64_t run() {
    for (std::size_t i = 0; i < from_.axes.size(); ++i) {
      pairs_.push_back(common_indices(from_.axes[i], to_.axes[i]));
    }
    descend(0, 0, 0);
    return count_;
  }

 private:
  void descend(std::size_t axis, std::int64_t from, std::int64_t to) {
    if (axis == pairs_.size()) {
      const Real value = values_[static_cast<std::size_t>(from)];
      Real& target = into_[static_cast<std::size_t>(to)];
      target = add_ ? target + value : value;
      ++count_;
      return;
    }
    for (const Pair& pair : pairs_[axis]) {
      descend(axis + 1, from * from_.axes[axis].length() + pair.from,
              to * to_.axes[axis].length() + pair.to);
    }
  }

  const PartLayout& from_;
  const std::vector<Real>& values_;
  const PartLayout& to_;
  std::vector<Real>& into_;
  bool add_;
  std::vector<std::vector<Pair>> pairs_{};
  std::int64_t count_ = 0;
};

/// Elements of a part before the flat cut, from `first` to before `last`, that are no padding.
[[nodiscard]] std::int64_t filled_between(const PartLayout& layout, std::int64_t first,
                                          std::int64_t last) {
  PartLayout whole{layout.axes};
  if (last <= first || whole.filled() == whole.elements())
    return std::max<std::int64_t>(0, last - first);
  const std::vector<std::int64_t> indices = whole.global_indices();
  return std::count_if(indices.begin() + first, indices.begin() + last,
                       [](std::int64_t index) { return index >= 0; });
}

/// Both seen as a range of the same flat part.
template <class Real>
[[nodiscard]] std::int64_t copy_flat(const PartLayout& from, const std::vector<Real>& values,
                                     const PartLayout& to, std::vector<Real>& into, bool add) {
  if (from.axes != to.axes) throw ExecutionError{"flat parts of different parts of a tensor"};
  const std::int64_t first = std::max(from.first_flat, to.first_flat);
  const std::int64_t last = std::min(
      {from.first_flat + from.elements(), to.first_flat + to.elements(), from.unflattened()});
  for (std::int64_t i = first; i < last; ++i) {
    const Real value = values[static_cast<std::size_t>(i - from.first_flat)];
    Real& target = into[static_cast<std::size_t>(i - to.first_flat)];
    target = add ? target + value : value;
  }
  return filled_between(from, first, last);
}

}  // namespace

std::int64_t PartLayout::unflattened() const {
  std::int64_t gemm = 1;
  for (const PartAxis& axis : axes) gemm *= axis.length();
  return gemm;
}

std::int64_t PartLayout::filled() const {
  if (is_flat) {
    return filled_between(*this, first_flat, std::min(first_flat + flat, unflattened()));
  }
  std::int64_t gemm = 1;
  for (const PartAxis& axis : axes) {
    gemm *= std::count_if(axis.at.begin(), axis.at.end(), [](auto at) { return at >= 0; });
  }
  return gemm;
}

std::vector<std::int64_t> PartLayout::global_indices() const {
  std::vector<std::int64_t> out{0};
  for (const PartAxis& axis : axes) {
    std::vector<std::int64_t> next;
    next.reserve(out.size() * axis.at.size());
    for (const std::int64_t outer : out) {
      for (const std::int64_t at : axis.at) {
        next.push_back(outer < 0 || at < 0 ? PartAxis::kPadding : outer * axis.size + at);
      }
    }
    out = std::move(next);
  }
  if (!is_flat) return out;
  std::vector<std::int64_t> part(static_cast<std::size_t>(flat), PartAxis::kPadding);
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::size_t from = i + static_cast<std::size_t>(first_flat);
    if (from < out.size()) part[i] = out[from];
  }
  return part;
}

const PartAxis* PartLayout::find(Dim dim) const {
  const auto found = std::find_if(axes.begin(), axes.end(),
                                  [dim](const PartAxis& axis) { return axis.dim == dim; });
  return found == axes.end() ? nullptr : &*found;
}

const PartLayout& LayoutTable::of(TensorId tensor, int rank) {
  if (rank >= program_.mesh.ranks()) rank = 0;
  if (known_.size() <= tensor) known_.resize(program_.tensors.size());
  std::vector<std::unique_ptr<PartLayout>>& of_tensor = known_[tensor];
  if (of_tensor.empty()) of_tensor.resize(static_cast<std::size_t>(program_.mesh.ranks()));
  std::unique_ptr<PartLayout>& known = of_tensor[static_cast<std::size_t>(rank)];
  if (known == nullptr) {
    known = std::make_unique<PartLayout>(make(program_.tensors[tensor], rank));
  }
  return *known;
}

PartLayout LayoutTable::make(const Tensor& tensor, int rank) const {
  PartLayout out;
  for (const Extent& extent : tensor.extents) out.axes.push_back(axis(extent, rank));
  out.is_flat = !tensor.flat.empty();
  if (out.is_flat) {
    out.flat = ceil_div<std::int64_t>(out.unflattened(), program_.mesh.size(tensor.flat));
    out.first_flat = out.flat * program_.mesh.coordinate(rank, tensor.flat);
  }
  return out;
}

PartAxis LayoutTable::axis(const Extent& extent, int rank) const {
  PartAxis out;
  out.dim = extent.dim;
  out.size = extent.dim == Dim::slot && slots_ > 0 ? slots_ : extent.size;
  const std::int64_t parts = program_.mesh.size(extent.shards);
  const std::int64_t part = program_.mesh.coordinate(rank, extent.shards);
  if (extent.zigzag) {
    const std::int64_t length = ceil_div<std::int64_t>(out.size, 2 * parts);
    append(out, part * length, length);
    append(out, (2 * parts - 1 - part) * length, length);
  } else {
    const std::int64_t length = ceil_div<std::int64_t>(out.size, parts);
    append(out, part * length, length);
  }
  return out;
}

std::vector<std::int64_t> places_along(const PartLayout& layout,
                                       const std::vector<PartAxis>& over) {
  std::vector<std::int64_t> out{0};
  for (const PartAxis& axis : over) {
    // A part without the dimension is the same all along it.
    std::int64_t stride = layout.find(axis.dim) == nullptr ? 0 : 1;
    for (auto one = layout.axes.rbegin(); stride > 0 && one->dim != axis.dim; ++one) {
      stride *= one->length();
    }
    std::vector<std::int64_t> next;
    next.reserve(out.size() * axis.at.size());
    for (const std::int64_t outer : out) {
      for (std::int64_t i = 0; i < axis.length(); ++i) {
        next.push_back(outer + i * stride);
      }
    }
    out = std::move(next);
  }
  return out;
}

template <class Real>
std::int64_t copy_common(const PartLayout& from, const std::vector<Real>& values,
                         const PartLayout& to, std::vector<Real>& into, bool add) {
  const auto fits = [](const PartLayout& layout, const std::vector<Real>& held) {
    return static_cast<std::int64_t>(held.size()) == layout.elements();
  };
  if (!fits(from, values) || !fits(to, into)) {
    throw ExecutionError{fmt::format("{} and {} values where {} and {} belong", values.size(),
                                     into.size(), from.elements(), to.elements())};
  }
  if (from.is_flat || to.is_flat) return copy_flat(from, values, to, into, add);
  const bool alike = std::equal(
      from.axes.begin(), from.axes.end(), to.axes.begin(), to.axes.end(),
      [](const PartAxis& a, const PartAxis& b) { return a.dim == b.dim && a.size == b.size; });
  if (!alike) throw ExecutionError{"parts of tensors of other dimensions"};
  if (from.axes == to.axes && !add && from.filled() == from.elements()) {
    into = values;
    return from.elements();
  }
  return Copy<Real>{from, values, to, into, add}.run();
}

template std::int64_t copy_common(const PartLayout&, const std::vector<float>&, const PartLayout&,
                                  std::vector<float>&, bool);
template std::int64_t copy_common(const PartLayout&, const std::vector<double>&, const PartLayout&,
                                  std::vector<double>&, bool);

}  // namespace lockstep
