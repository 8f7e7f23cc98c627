#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/execute/host/kernels/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

/// The local index of a row by its number; none where another rank has it.
[[nodiscard]] std::int64_t row_of(const KernelCall& call, const PartAxis& rows, double number) {
  const std::int64_t global = std::llround(number);
  if (global < 0 || global >= rows.size) {
    refuse(call, fmt::format("row {} of {}", global, rows.size));
  }
  const auto found = std::find(rows.at.begin(), rows.at.end(), global);
  return found == rows.at.end() ? PartAxis::kPadding : found - rows.at.begin();
}

/// Logits, row by row, without the padding of a vocabulary that ranks do not share evenly.
class Logits {
 public:
  explicit Logits(const KernelCall& call)
      : words{call.read(0).layout->axes.back()},
        width{static_cast<std::size_t>(words.length())},
        rows{width == 0 ? 0 : call.read(0).size() / width},
        data_{call.read(0).data()} {}

  [[nodiscard]] bool has(std::size_t i) const { return words.at[i] >= 0; }
  [[nodiscard]] double at(std::size_t row, std::size_t i) const { return data_[row * width + i]; }

  const PartAxis& words;
  std::size_t width;
  std::size_t rows;

 private:
  const double* data_;
};

}  // namespace

void embedding(KernelCall& call) {
  const KernelOperand& numbers = call.read(0);
  const KernelOperand& table = call.read(1);
  KernelResult& y = call.write(0);
  const auto n = table.layout->axes.back().length();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t row = row_of(call, table.layout->axes.front(), numbers.data()[i]);
    if (row < 0) continue;
    std::copy_n(table.data() + row * n, n, y.values.data() + static_cast<std::int64_t>(i) * n);
  }
}

void embedding_backward(KernelCall& call) {
  const KernelOperand& numbers = call.read(0);
  const KernelOperand& g = call.read(1);
  KernelResult& table = call.write(0);
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

void loss_maximum(KernelCall& call) {
  const Logits logits{call};
  for (std::size_t row = 0; row < logits.rows; ++row) {
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < logits.width; ++i) {
      if (logits.has(i)) maximum = std::max(maximum, logits.at(row, i));
    }
    call.write(0).values[row] = maximum;
  }
}

void loss_sum(KernelCall& call) {
  const Logits logits{call};
  for (std::size_t row = 0; row < logits.rows; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < logits.width; ++i) {
      if (logits.has(i)) sum += std::exp(logits.at(row, i) - call.read(2).data()[row]);
    }
    call.write(0).values[row] = sum;
    const std::int64_t own = row_of(call, logits.words, call.read(1).data()[row]);
    call.write(1).values[row] = own < 0 ? 0 : logits.at(row, static_cast<std::size_t>(own));
  }
}

void loss(KernelCall& call) {
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    call.write(0).values[0] +=
        call.operation->factor *
        (call.read(0).data()[i] + std::log(call.read(1).data()[i]) - call.read(2).data()[i]);
  }
}

void loss_backward(KernelCall& call) {
  const Logits logits{call};
  for (std::size_t row = 0; row < logits.rows; ++row) {
    const std::int64_t own = row_of(call, logits.words, call.read(1).data()[row]);
    for (std::size_t i = 0; i < logits.width; ++i) {
      if (!logits.has(i)) continue;
      const double p =
          std::exp(logits.at(row, i) - call.read(2).data()[row]) / call.read(3).data()[row];
      call.write(0).values[row * logits.width + i] =
          call.operation->factor * (p - (static_cast<std::int64_t>(i) == own ? 1 : 0));
    }
  }
}

}  // namespace lockstep::kernels
