#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/host/kernels/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

/// Steps through the elements of a part along some of its dimensions.
[[nodiscard]] std::vector<std::int64_t> offsets(const PartLayout& layout,
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

[[nodiscard]] Groups groups_of(const KernelSettings& call, const PartLayout& a, const PartLayout& b,
                               const PartLayout& y) {
  Groups out;
  for (const PartAxis& axis : a.axes) {
    const bool in_b = has(b, axis.dim);
    const bool in_y = has(y, axis.dim);
    if (!in_b && !in_y)
      refuse(call, fmt::format("{} is in one operand alone", to_string(axis.dim)));
    (in_b && in_y ? out.all : in_y ? out.rows : out.inner).push_back(axis);
  }
  for (const PartAxis& axis : b.axes) {
    if (has(a, axis.dim)) continue;
    if (!has(y, axis.dim)) {
      refuse(call, fmt::format("{} is in one operand alone", to_string(axis.dim)));
    }
    out.columns.push_back(axis);
  }
  for (const PartAxis& axis : y.axes) {
    if (!has(a, axis.dim) && !has(b, axis.dim)) {
      refuse(call, fmt::format("{} is in the result alone", to_string(axis.dim)));
    }
  }
  return out;
}

[[nodiscard]] bool is_run(const std::vector<std::int64_t>& at) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

template <class Real>
class Product {
 public:
  explicit Product(KernelCall<Real>& call)
      : groups_{groups_of(call, *call.read(0).layout, *call.read(1).layout, *call.write(0).layout)},
        a_{call.read(0).data()},
        b_{call.read(1).data()},
        y_{call.write(0).values.data()},
        b_columns_{offsets(*call.read(1).layout, groups_.columns)},
        y_columns_{offsets(*call.write(0).layout, groups_.columns)},
        b_inner_{offsets(*call.read(1).layout, groups_.inner)},
        runs_{is_run(b_columns_) && is_run(y_columns_)} {
    const PartLayout& a = *call.read(0).layout;
    const PartLayout& b = *call.read(1).layout;
    const PartLayout& y = *call.write(0).layout;
    const auto a_all = offsets(a, groups_.all);
    const auto b_all = offsets(b, groups_.all);
    const auto y_all = offsets(y, groups_.all);
    const auto a_rows = offsets(a, groups_.rows);
    const auto y_rows = offsets(y, groups_.rows);
    const auto a_inner = offsets(a, groups_.inner);
    for (std::size_t i = 0; i < a_all.size(); ++i) {
      for (std::size_t row = 0; row < a_rows.size(); ++row) {
        for (std::size_t k = 0; k < a_inner.size(); ++k) {
          const Real factor = a_[a_all[i] + a_rows[row] + a_inner[k]];
          add_row(factor, b_ + b_all[i] + b_inner_[k], y_ + y_all[i] + y_rows[row]);
        }
      }
    }
  }

 private:
  void add_row(Real factor, const Real* b, Real* y) const {
    const std::size_t count = b_columns_.size();
    if (runs_) {
      for (std::size_t j = 0; j < count; ++j) y[j] += factor * b[j];
    } else {
      for (std::size_t j = 0; j < count; ++j) y[y_columns_[j]] += factor * b[b_columns_[j]];
    }
  }

  Groups groups_;
  const Real* a_;
  const Real* b_;
  Real* y_;
  std::vector<std::int64_t> b_columns_;
  std::vector<std::int64_t> y_columns_;
  std::vector<std::int64_t> b_inner_;
  bool runs_;
};

}  // namespace

template <class Real>
void matmul(KernelCall<Real>& call) {
  KernelResult<Real>& y = call.write(0);
  for (std::size_t i = 0; i < call.reads.size(); ++i) {
  }
  Product<Real>{call};
  if (call.reads.size() < 3 || !call.adds_bias) return;
  const std::vector<std::int64_t> from = offsets(*call.read(2).layout, y.layout->axes);
  for (std::size_t i = 0; i < from.size(); ++i) y.values[i] += call.read(2).data()[from[i]];
}

template <class Real>
void bias_gradient(KernelCall<Real>& call) {
  const KernelOperand<Real>& g = call.read(0);
  KernelResult<Real>& out = call.write(0);
  const std::vector<std::int64_t> to = offsets(*out.layout, g.layout->axes);
  for (std::size_t i = 0; i < to.size(); ++i) {
    out.values[static_cast<std::size_t>(to[i])] += g.data()[i];
  }
}

template void matmul(KernelCall<float>&);
template void matmul(KernelCall<double>&);
template void bias_gradient(KernelCall<float>&);
template void bias_gradient(KernelCall<double>&);

}  // namespace lockstep::kernels
