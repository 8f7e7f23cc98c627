#include "tools/app/validate/device_kernels.hpp"

#include <algorithm>

namespace lockstep::app {

namespace {

using Kind = OperationKind;

Kernel kernel_of_kind(Kind kind, Dtype math) {
  Kernel out;
  out.kind = kind;
  out.of = class_of(kind);
  out.math = math;
  return out;
}

/// Numbers in the tensors of one attention.
struct AttentionTensors {
  double tokens = 0;  // of q, k, v, o and their gradients
  double scores = 0;
};

AttentionTensors tensors_of(const DeviceTable& table, const DevicePoint& point) {
  const double heads = static_cast<double>(point.batch) * static_cast<double>(table.heads);
  const auto seq = static_cast<double>(point.seq);
  return {heads * seq * static_cast<double>(table.head_size), heads * seq * seq};
}

Kernel attention_kernel(Kind kind, const DeviceTable& table, const DevicePoint& point, Dtype math,
                        double numbers) {
  Kernel out = kernel_of_kind(kind, math);
  out.batches = point.batch * table.heads;
  out.m = out.n = point.seq;
  out.k = table.head_size;
  out.causal = table.causal;
  out.moved_bytes = numbers * static_cast<double>(bytes_per_element(math));
  return out;
}

/// Forward two products, backward five (Dao et al. 2022, arXiv 2205.14135, algorithm 4); q, k, v
/// and o move once each, backward the gradients of all as well.
std::vector<Kernel> fused(const DeviceTable& table, const DevicePoint& point, Dtype math) {
  const AttentionTensors of = tensors_of(table, point);
  const double product =
      2 * of.scores * static_cast<double>(table.head_size) * (table.causal ? 0.5 : 1.0);
  Kernel forward = attention_kernel(Kind::attention, table, point, math, 4 * of.tokens);
  forward.flops = 2 * product;
  if (!table.backward) return {forward};
  Kernel backward = attention_kernel(Kind::attention_backward, table, point, math, 8 * of.tokens);
  backward.flops = 5 * product;
  backward.backward = true;
  return {forward, backward};
}

/// What sim/program/operation.hpp says that each step reads and writes.
std::vector<Kernel> unfused(const DeviceTable& table, const DevicePoint& point, Dtype math) {
  const AttentionTensors of = tensors_of(table, point);
  const double t = of.tokens;
  const double s = of.scores;
  const auto step = [&](Kind kind, double numbers) {
    return attention_kernel(kind, table, point, math, numbers);
  };
  std::vector<Kernel> out{step(Kind::attention_scores, 2 * t + s), step(Kind::softmax, 2 * s),
                          step(Kind::attention_context, 2 * t + s)};
  if (!table.backward) return out;
  out.push_back(step(Kind::attention_context_backward, 3 * t + 2 * s));
  out.push_back(step(Kind::softmax_backward, 3 * s));
  out.push_back(step(Kind::attention_scores_backward, 4 * t + s));
  return out;
}

}  // namespace

Kernel gemm_kernel(const DevicePoint& point, Dtype math) {
  Kernel out = kernel_of_kind(Kind::matmul, math);
  out.m = point.m;
  out.n = point.n;
  out.k = point.k;
  const auto m = static_cast<double>(point.m);
  const auto n = static_cast<double>(point.n);
  const auto k = static_cast<double>(point.k);
  const auto bytes = static_cast<double>(bytes_per_element(math));
  out.flops = 2 * m * n * k;
  out.moved_bytes = bytes * (m * k + k * n) + std::max(2.0, bytes) * m * n;
  return out;
}

std::vector<Kernel> attention_kernels(const DeviceTable& table, const DevicePoint& point,
                                      Dtype math) {
  return table.implementation == "unfused" ? unfused(table, point, math)
                                           : fused(table, point, math);
}

Kernel memory_bound_kernel(OperationKind operation, Bytes moved) {
  Kernel out = kernel_of_kind(operation, Dtype::bf16);
  out.moved_bytes = static_cast<double>(moved.count());
  return out;
}

Kernel copy_kernel(Bytes moved) {
  Kernel out = kernel_of_kind(Kind::scale, Dtype::bf16);
  out.of = OperationClass::matmul;  // the driver's copies reach less than kernels that stream
  out.moved_bytes = static_cast<double>(moved.count());
  return out;
}

}  // namespace lockstep::app
