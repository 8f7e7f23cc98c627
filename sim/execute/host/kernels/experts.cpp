#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/execute/host/kernels/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

[[nodiscard]] std::size_t width_of(const PartLayout& layout) {
  return static_cast<std::size_t>(layout.axes.back().length());
}

[[nodiscard]] std::vector<double> probabilities(const double* logits, std::size_t count) {
  std::vector<double> out(logits, logits + count);
  const double maximum = *std::max_element(out.begin(), out.end());
  double sum = 0;
  for (double& value : out) sum += value = std::exp(value - maximum);
  for (double& value : out) value /= sum;
  return out;
}

[[nodiscard]] std::size_t index_of(double number) {
  return static_cast<std::size_t>(std::llround(number));
}

/// Calls each(token, visit, row of the slots) for every visit of a token to an expert that has a
/// slot; tokens take slots in their order.
template <class Each>
void for_each_visit(const KernelCall& call, const Tensor& tensor, const KernelOperand& experts,
                    const PartLayout& slots, Each&& each) {
  check_whole(call, tensor, slots.axes[0]);
  const auto room = static_cast<std::size_t>(slots.axes[1].length());
  const std::size_t choices = width_of(*experts.layout);
  std::map<std::size_t, std::size_t> taken;
  for (std::size_t i = 0; i < experts.size(); ++i) {
    const std::size_t expert = index_of(experts.data()[i]);
    const std::size_t slot = taken[expert]++;
    if (slot < room) each(i / choices, i, expert * room + slot);
  }
}

/// y += factor * x.
void add_row(double factor, const double* x, double* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

}  // namespace

void router(KernelCall& call) {
  const KernelOperand& logits = call.read(0);
  check_whole(call, *logits.tensor, logits.layout->axes.back());
  const std::size_t n = width_of(*logits.layout);
  const std::size_t choices = width_of(*call.write(0).layout);
  std::vector<std::size_t> order(n);
  for (std::size_t row = 0; row * n < logits.size(); ++row) {
    const double* from = logits.data() + row * n;
    const std::vector<double> p = probabilities(from, n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return from[a] > from[b]; });
    for (std::size_t i = 0; i < choices; ++i) {
      call.write(0).values[row * choices + i] = p[order[i]];
      call.write(1).values[row * choices + i] = static_cast<double>(order[i]);
    }
  }
}

void router_backward(KernelCall& call) {
  const std::size_t n = width_of(*call.read(0).layout);
  const std::size_t choices = width_of(*call.read(1).layout);
  for (std::size_t row = 0; row * n < call.read(0).size(); ++row) {
    const std::vector<double> p = probabilities(call.read(0).data() + row * n, n);
    double* out = call.write(0).values.data() + row * n;
    double mean = 0;
    for (std::size_t i = row * choices; i < (row + 1) * choices; ++i) {
      const std::size_t expert = index_of(call.read(2).data()[i]);
      const double g = call.read(3).data()[i];
      out[expert] += p[expert] * g;
      mean += p[expert] * g;
    }
    for (std::size_t i = 0; i < n; ++i) out[i] -= p[i] * mean;
  }
}

void dispatch(KernelCall& call) {
  KernelResult& slots = call.write(0);
  const std::size_t n = width_of(*slots.layout);
  for_each_visit(call, *slots.tensor, call.read(1), *slots.layout,
                 [&](std::size_t token, std::size_t, std::size_t slot) {
                   add_row(1, call.read(0).data() + token * n, slots.values.data() + slot * n, n);
                 });
}

void dispatch_backward(KernelCall& call) {
  const KernelOperand& g = call.read(0);
  const std::size_t n = width_of(*g.layout);
  for_each_visit(call, *g.tensor, call.read(1), *g.layout,
                 [&](std::size_t token, std::size_t, std::size_t slot) {
                   add_row(1, g.data() + slot * n, call.write(0).values.data() + token * n, n);
                 });
}

void combine(KernelCall& call) {
  const KernelOperand& slots = call.read(0);
  const std::size_t n = width_of(*slots.layout);
  for_each_visit(call, *slots.tensor, call.read(2), *slots.layout,
                 [&](std::size_t token, std::size_t visit, std::size_t slot) {
                   add_row(call.read(1).data()[visit], slots.data() + slot * n,
                           call.write(0).values.data() + token * n, n);
                 });
}

void combine_backward(KernelCall& call) {
  const KernelOperand& slots = call.read(0);
  const std::size_t n = width_of(*slots.layout);
  for_each_visit(call, *slots.tensor, call.read(2), *slots.layout,
                 [&](std::size_t token, std::size_t visit, std::size_t slot) {
                   const double* g = call.read(3).data() + token * n;
                   const double* x = slots.data() + slot * n;
                   add_row(call.read(1).data()[visit], g, call.write(0).values.data() + slot * n,
                           n);
                   call.write(1).values[visit] += std::inner_product(g, g + n, x, 0.0);
                 });
}

}  // namespace lockstep::kernels
