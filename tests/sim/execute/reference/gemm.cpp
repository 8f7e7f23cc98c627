#include <fmt/format.h>

#include <Eigen/Core>

#include "sim/execute/kernels/gemm_groups.hpp"
#include "tests/sim/execute/reference/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Where the elements of a matrix stand in a part: element (i, j) at rows[i] + columns[j] further.
struct Places {
  Places(const PartLayout& layout, const std::vector<PartAxis>& along_rows,
         const std::vector<PartAxis>& along_columns)
      : rows{places_along(layout, along_rows)}, columns{places_along(layout, along_columns)} {}

  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
};

template <class Real>
[[nodiscard]] Matrix<Real> gather(const Real* from, const Places& at) {
  Matrix<Real> out(at.rows.size(), at.columns.size());
  Real* to = out.data();
  for (const std::int64_t row : at.rows) {
    for (const std::int64_t column : at.columns) *to++ = from[row + column];
  }
  return out;
}

template <class Real>
void scatter(const Matrix<Real>& values, const Places& at, Real* to) {
  const Real* from = values.data();
  for (const std::int64_t row : at.rows) {
    for (const std::int64_t column : at.columns) to[row + column] = *from++;
  }
}

/// One GEMM of matrices for every index of the dimensions that all three have.
template <class Real>
void multiply(KernelCall<Real>& call) {
  const PartLayout& a = *call.read(0).layout;
  const PartLayout& b = *call.read(1).layout;
  const PartLayout& y = *call.write(0).layout;
  const GemmGroups groups = gemm_groups(call, a, b, y);
  const Places a_at{a, groups.rows, groups.inner};
  const Places b_at{b, groups.inner, groups.columns};
  const Places y_at{y, groups.rows, groups.columns};
  const std::vector<std::int64_t> a_all = places_along(a, groups.all);
  const std::vector<std::int64_t> b_all = places_along(b, groups.all);
  const std::vector<std::int64_t> y_all = places_along(y, groups.all);
  for (std::size_t i = 0; i < y_all.size(); ++i) {
    const Matrix<Real> left = gather(call.read(0).data() + a_all[i], a_at);
    const Matrix<Real> right = gather(call.read(1).data() + b_all[i], b_at);
    const Matrix<Real> gemm = left * right;
    scatter(gemm, y_at, call.write(0).values.data() + y_all[i]);
  }
}

}  // namespace

template <class Real>
void matmul(KernelCall<Real>& call) {
  multiply(call);
  if (call.reads.size() < 3 || !call.adds_bias) return;
  KernelResult<Real>& y = call.write(0);
  const std::vector<std::int64_t> from = places_along(*call.read(2).layout, y.layout->axes);
  for (std::size_t i = 0; i < from.size(); ++i) y.values[i] += call.read(2).data()[from[i]];
}

template <class Real>
void bias_gradient(KernelCall<Real>& call) {
  const KernelOperand<Real>& g = call.read(0);
  KernelResult<Real>& out = call.write(0);
  const std::vector<std::int64_t> to = places_along(*out.layout, g.layout->axes);
  for (std::size_t i = 0; i < to.size(); ++i) {
    out.values[static_cast<std::size_t>(to[i])] += g.data()[i];
  }
}

template void matmul(KernelCall<float>&);
template void matmul(KernelCall<double>&);
template void bias_gradient(KernelCall<float>&);
template void bias_gradient(KernelCall<double>&);

}  // namespace lockstep::kernels
