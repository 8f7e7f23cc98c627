#include "sim/execute/device_kernels/run_on_host.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <type_traits>

#include "sim/base/check.hpp"
#include "sim/execute/device_kernels/arguments_of.hpp"
#include "sim/execute/device_kernels/dispatch.hpp"

namespace lockstep {

namespace kernels {

namespace {

/// A team of one.
template <class Real>
class Alone {
 public:
  explicit Alone(Real* scratch) : scratch_{scratch} {}
  [[nodiscard]] static std::int64_t lane() { return 0; }
  [[nodiscard]] static std::int64_t lanes() { return 1; }
  [[nodiscard]] static Real sum(Real own) { return own; }
  [[nodiscard]] static Real maximum(Real own) { return own; }
  static void wait() {}
  [[nodiscard]] Real* scratch() const { return scratch_; }

 private:
  Real* scratch_;
};

template <class Real>
class HostRunner {
 public:
  explicit HostRunner(const KernelLaunch& launch)
      : count_{launch.count}, scratch_(static_cast<std::size_t>(launch.scratch)) {}

  template <class Function>
  bool each(const Function& function) {
    for (std::int64_t i = 0; i < count_; ++i) function(i);
    return true;
  }
  template <class Function>
  bool teams(const Function& function) {
    Alone<Real> team{scratch_.data()};
    for (std::int64_t i = 0; i < count_; ++i) function(i, team);
    return true;
  }

 private:
  std::int64_t count_;
  std::vector<Real> scratch_;
};

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;

/// A matrix of a buffer in the type that is computed in, whatever it is held in.
template <class Real, class From>
[[nodiscard]] Matrix<Real> taken(const From& from, std::int64_t first, std::int64_t rows,
                                 std::int64_t columns, std::int64_t row, std::int64_t column) {
  if constexpr (std::is_same_v<From, PlainValues<Real>>) {
    return Eigen::Map<const Matrix<Real>, 0, Strides>{from.data + first, rows, columns,
                                                      Strides{row, column}};
  } else {
    Matrix<Real> out(rows, columns);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t k = 0; k < columns; ++k) {
        out(i, k) = load<Real>(from, first + i * row + k * column);
      }
    }
    return out;
  }
}

/// Sizes: m, n, k, batches, then strides: a by row and inner, b by inner and column, y by row and
/// column. Tables: where the batches of a, b and y begin. A factor.
template <class Real, class Args>
void gemm(const Args& a) {
  const std::int64_t m = a.size[0];
  const std::int64_t n = a.size[1];
  const std::int64_t k = a.size[2];
  const auto factor = static_cast<Real>(a.number[0]);
  for (std::int64_t batch = 0; batch < a.size[3]; ++batch) {
    const Matrix<Real> gemm = taken<Real>(a.in[0], a.at(0, batch), m, k, a.size[4], a.size[5]) *
                              taken<Real>(a.in[1], a.at(1, batch), k, n, a.size[6], a.size[7]);
    const std::int64_t first = a.at(2, batch);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        put(a, 0, first + i * a.size[8] + j * a.size[9], gemm(i, j) * factor);
      }
    }
  }
}

[[nodiscard]] std::vector<double> all_of(const Values& values, std::int64_t count) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(load<double>(values, i));
  return out;
}

/// Sizes are the operands' lengths: reads, then writes.
void compute(const KernelLaunch& launch, const std::vector<Values>& reads,
             const std::vector<Values>& writes) {
  std::vector<std::vector<double>> read;
  std::vector<std::vector<double>> written;
  auto size = launch.sizes.begin();
  for (const Values& values : reads) read.push_back(all_of(values, *size++));
  for (const Values& values : writes) written.push_back(all_of(values, *size++));
  launch.on_host(read, written);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    for (std::size_t k = 0; k < written[i].size(); ++k) {
      store(writes[i], static_cast<std::int64_t>(k), written[i][k]);
    }
  }
}

template <class Real, class Args>
void run(const KernelLaunch& launch, const Args& arguments) {
  if (launch.function == KernelFunction::gemm) return gemm<Real>(arguments);
  HostRunner<Real> runner{launch};
  LOCKSTEP_CHECK((dispatch<Real>(launch.function, arguments, runner)));
}

/// Functions on operands of one type need not ask for it element by element.
template <class Real>
void run_plainly(const KernelLaunch& launch, const Arguments& arguments, bool plain) {
  if (!plain) return run<Real>(launch, arguments);
  run<Real>(launch, plain_arguments<Real>(arguments));
}

[[nodiscard]] bool all_are(const std::vector<Values>& values, NumberType type) {
  return std::all_of(values.begin(), values.end(),
                     [type](const Values& each) { return each.type == type; });
}

}  // namespace

void run_on_host(const KernelLaunch& launch, const std::vector<Values>& reads,
                 const std::vector<Values>& writes) {
  if (launch.function == KernelFunction::on_host) return compute(launch, reads, writes);
  const Arguments arguments = arguments_of(launch, reads, writes);
  const NumberType type = launch.in_doubles ? NumberType::fp64 : NumberType::fp32;
  const bool plain = all_are(reads, type) && all_are(writes, type);
  if (launch.in_doubles) {
    run_plainly<double>(launch, arguments, plain);
  } else {
    run_plainly<float>(launch, arguments, plain);
  }
}

void combine_on_host(bool adds, std::int64_t count, const Values& from, const Values& to) {
  if (from.type == NumberType::fp32 && adds) {  // plainly, so that the compiler sees a loop
    const float* x = static_cast<const float*>(from.data);
    float* y = static_cast<float*>(to.data);
    for (std::int64_t i = 0; i < count; ++i) y[i] += x[i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = load<double>(from, i);
    const double y = load<double>(to, i);
    store(to, i, adds ? y + x : (y > x ? y : x));
  }
}

}  // namespace kernels

}  // namespace lockstep
