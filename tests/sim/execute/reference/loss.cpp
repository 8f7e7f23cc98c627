#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/sim/execute/reference/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

/// The local index of a row by its number; none where another rank has it.
[[nodiscard]] std::int64_t row_of(const KernelSettings& call, const PartAxis& rows, double number) {
  const std::int64_t global = std::llround(number);
  if (global < 0 || global >= rows.size) {
    refuse(call, fmt::format("row {} of {}", global, rows.size));
  }
  const auto found = std::find(rows.at.begin(), rows.at.end(), global);
  return found == rows.at.end() ? PartAxis::kPadding : found - rows.at.begin();
}

/// Logits, row by row, without the padding of a vocabulary that ranks do not share evenly.
template <class Real>
class Logits {
 public:
  explicit Logits(const KernelCall<Real>& call)
      : words{call.read(0).layout->axes.back()},
        width{static_cast<std::size_t>(words.length())},
        rows{width == 0 ? 0 : call.read(0).size() / width},
        data_{call.read(0).data()} {}

  [[nodiscard]] bool has(std::size_t i) const { return words.at[i] >= 0; }
  [[nodiscard]] Real at(std::size_t row, std::size_t i) const { return data_[row * width + i]; }

  const PartAxis& words;
  std::size_t width;
  std::size_t rows;

 private:
  const Real* data_;
};

}  // namespace

template <class Real>
void embedding(KernelCall<Real>& call) {
  const KernelOperand<Real>& numbers = call.read(0);
  const KernelOperand<Real>& table = call.read(1);
  KernelResult<Real>& y = call.write(0);
  const auto n = table.layout->axes.back().length();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t row = row_of(call, table.layout->axes.front(), numbers.data()[i]);
    if (row < 0) continue;
    std::copy_n(table.data() + row * n, n, y.values.data() + static_cast<std::int64_t>(i) * n);
  }
}

template <class Real>
void embedding_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& numbers = call.read(0);
  const KernelOperand<Real>& g = call.read(1);
  KernelResult<Real>& table = call.write(0);
  const auto n = table.layout->axes.back().length();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t row = row_of(call, table.layout->axes.front(), numbers.data()[i]);
    if (row < 0) continue;
    for (std::int64_t j = 0; j < n; ++j) {
      table.values[static_cast<std::size_t>(row * n + j)] +=
          g.data()[static_cast<std::int64_t>(i) * n + j];
    }
  }
}

template <class Real>
void loss_maximum(KernelCall<Real>& call) {
  const Logits<Real> logits{call};
  for (std::size_t row = 0; row < logits.rows; ++row) {
    Real maximum = -std::numeric_limits<Real>::infinity();
    for (std::size_t i = 0; i < logits.width; ++i) {
      if (logits.has(i)) maximum = std::max(maximum, logits.at(row, i));
    }
    call.write(0).values[row] = maximum;
  }
}

template <class Real>
void loss_sum(KernelCall<Real>& call) {
  const Logits<Real> logits{call};
  for (std::size_t row = 0; row < logits.rows; ++row) {
    Real sum = 0;
    for (std::size_t i = 0; i < logits.width; ++i) {
      if (logits.has(i)) sum += std::exp(logits.at(row, i) - call.read(2).data()[row]);
    }
    call.write(0).values[row] = sum;
    const std::int64_t own = row_of(call, logits.words, call.read(1).data()[row]);
    call.write(1).values[row] = own < 0 ? 0 : logits.at(row, static_cast<std::size_t>(own));
  }
}

template <class Real>
void loss(KernelCall<Real>& call) {
  const auto factor = static_cast<Real>(call.operation->factor);
  if (call.reads.size() == 1) {  // errors
    for (const Real sum : *call.read(0).values) call.write(0).values[0] += factor * sum;
    return;
  }
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    call.write(0).values[0] += factor * (call.read(0).data()[i] + std::log(call.read(1).data()[i]) -
                                         call.read(2).data()[i]);
  }
}

template <class Real>
void loss_backward(KernelCall<Real>& call) {
  const Logits<Real> logits{call};
  const auto factor = static_cast<Real>(call.operation->factor);
  for (std::size_t row = 0; row < logits.rows; ++row) {
    const std::int64_t own = row_of(call, logits.words, call.read(1).data()[row]);
    for (std::size_t i = 0; i < logits.width; ++i) {
      if (!logits.has(i)) continue;
      const Real p =
          std::exp(logits.at(row, i) - call.read(2).data()[row]) / call.read(3).data()[row];
      call.write(0).values[row * logits.width + i] =
          factor * (p - (static_cast<std::int64_t>(i) == own ? Real{1} : Real{0}));
    }
  }
}

template <class Real>
void squared_error(KernelCall<Real>& call) {
  const auto width = static_cast<std::size_t>(call.read(0).layout->axes.back().length());
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    const Real error = call.read(0).data()[i] - call.read(1).data()[i];
    call.write(0).values[i / width] += error * error;
  }
}

template <class Real>
void squared_error_backward(KernelCall<Real>& call) {
  const auto factor = static_cast<Real>(call.operation->factor);
  for (std::size_t i = 0; i < call.read(0).size(); ++i)
    call.write(0).values[i] = 2 * factor * (call.read(0).data()[i] - call.read(1).data()[i]);
}

template void squared_error(KernelCall<float>&);
template void squared_error(KernelCall<double>&);
template void squared_error_backward(KernelCall<float>&);
template void squared_error_backward(KernelCall<double>&);
template void embedding(KernelCall<float>&);
template void embedding(KernelCall<double>&);
template void embedding_backward(KernelCall<float>&);
template void embedding_backward(KernelCall<double>&);
template void loss_maximum(KernelCall<float>&);
template void loss_maximum(KernelCall<double>&);
template void loss_sum(KernelCall<float>&);
template void loss_sum(KernelCall<double>&);
template void loss(KernelCall<float>&);
template void loss(KernelCall<double>&);
template void loss_backward(KernelCall<float>&);
template void loss_backward(KernelCall<double>&);

}  // namespace lockstep::kernels
