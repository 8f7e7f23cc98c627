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
  double q = 0;
  double k = 0;
  double v = 0;
  double out = 0;
  double scores = 0;
};

AttentionTensors tensors_of(const DeviceTable& table, const DevicePoint& point) {
  const auto tokens = static_cast<double>(point.batch) * static_cast<double>(point.seq);
  const double heads = tokens * static_cast<double>(table.heads);
  const double kv_heads = tokens * static_cast<double>(table.kv_heads);
  const auto size = static_cast<double>(table.head_size);
  const auto value_size = static_cast<double>(table.value_head_size);
  return {heads * size, kv_heads * size, kv_heads * value_size, heads * value_size,
          heads * static_cast<double>(point.seq)};
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

/// Forward two products, backward five (Dao et al. 2022, arXiv 2205.14135, algorithm 4), two of
/// them as deep as a head of the values; q, k, v and o move once each, backward the gradients of
/// all as well.
std::vector<Kernel> fused(const DeviceTable& table, const DevicePoint& point, Dtype math) {
  const AttentionTensors of = tensors_of(table, point);
  const double seen = 2 * of.scores * (table.causal ? 0.5 : 1.0);
  const double by_keys = seen * static_cast<double>(table.head_size);
  const double by_values = seen * static_cast<double>(table.value_head_size);
  const double tensors = of.q + of.k + of.v + of.out;
  Kernel forward = attention_kernel(Kind::attention, table, point, math, tensors);
  forward.flops = by_keys + by_values;
  if (!table.backward) return {forward};
  Kernel backward = attention_kernel(Kind::attention_backward, table, point, math, 2 * tensors);
  backward.flops = 3 * by_keys + 2 * by_values;
  backward.backward = true;
  return {forward, backward};
}

/// What sim/program/operation.hpp says that each step reads and writes.
std::vector<Kernel> unfused(const DeviceTable& table, const DevicePoint& point, Dtype math) {
  const AttentionTensors of = tensors_of(table, point);
  const double s = of.scores;
  const auto step = [&](Kind kind, double numbers) {
    Kernel out = attention_kernel(kind, table, point, math, numbers);
    if (kind == Kind::attention_context || kind == Kind::attention_context_backward)
      out.k = table.value_head_size;
    return out;
  };
  std::vector<Kernel> out{step(Kind::attention_scores, of.q + of.k + s), step(Kind::softmax, 2 * s),
                          step(Kind::attention_context, of.v + of.out + s)};
  if (!table.backward) return out;
  out.push_back(step(Kind::attention_context_backward, 2 * of.v + of.out + 2 * s));
  out.push_back(step(Kind::softmax_backward, 3 * s));
  out.push_back(step(Kind::attention_scores_backward, 2 * (of.q + of.k) + s));
  return out;
}

}  // namespace

Kernel gemm_kernel(const DevicePoint& point, Dtype math) {
  Kernel out = kernel_of_kind(Kind::matmul, math);
  const auto groups = static_cast<double>(point.groups);
  out.batches = point.groups;
  out.m = point.m;
  out.n = point.n;
  out.k = point.k;
  const auto m = static_cast<double>(point.m);
  const auto n = static_cast<double>(point.n);
  const auto k = static_cast<double>(point.k);
  const auto bytes = static_cast<double>(bytes_per_element(math));
  out.flops = groups * 2 * m * n * k;
  out.moved_bytes = groups * (bytes * (m * k + k * n) + std::max(2.0, bytes) * m * n);
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
