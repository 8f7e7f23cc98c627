#pragma once

#include "sim/cost/device_model.hpp"
#include "sim/program/kernel/kernel.hpp"

/// A device of round figures for derivations by hand: 132 multiprocessors of 1 TFLOP/s each in 16
/// bits, memory that is seldom in the way, no launches, every efficiency 1 unless a test says
/// otherwise.
namespace lockstep {

inline GemmParameters plain_gemms() {
  GemmParameters out;
  out.k_granularity = 64;
  out.alignment = 8;
  out.unaligned = 0.25;
  out.unaligned_batches = 0.125;
  out.tiles = {{128, 128, 1.0}};
  out.max_split_k = 1;
  out.min_k_per_split = 256;
  out.split_k_traffic = 1;
  return out;
}

inline AttentionFigures plain_attention() {
  AttentionFigures out;
  out.head_sizes = {{64, 0.4, 0.2}, {128, 0.8, 0.5}};
  out.head_grain = 32;
  out.block = 128;
  return out;
}

inline DeviceModel plain_device(Rate memory = 100'000_GBps) {
  DeviceModel out;
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    out.peaks[static_cast<std::size_t>(dtype)] = FlopRate{132e12};
    out.gemms[static_cast<std::size_t>(dtype)] = plain_gemms();
  }
  out.memory_bandwidth = memory;
  out.multiprocessors = 132;
  out.attention = plain_attention();
  out.memory_efficiency.fill(1);
  return out;
}

/// A GEMM of plain 16-bit tensors.
inline Kernel gemm_kernel(std::int64_t m, std::int64_t n, std::int64_t k,
                          std::int64_t batches = 1) {
  Kernel out;
  out.of = OperationClass::matmul;
  out.kind = OperationKind::matmul;
  out.m = m;
  out.n = n;
  out.k = k;
  out.batches = batches;
  const auto elements = static_cast<double>(batches * (m * k + k * n + m * n));
  out.flops = 2.0 * static_cast<double>(batches * m * n * k);
  out.moved_bytes = 2 * elements;
  return out;
}

/// Fused attention with as many queries as keys.
inline Kernel attention_kernel(std::int64_t batches, std::int64_t length, std::int64_t head_size,
                               bool causal = false, bool backward = false) {
  Kernel out;
  out.of = OperationClass::attention;
  out.kind = backward ? OperationKind::attention_backward : OperationKind::attention;
  out.m = length;
  out.n = length;
  out.k = head_size;
  out.batches = batches;
  out.causal = causal;
  out.backward = backward;
  const auto elements = static_cast<double>(batches * length * head_size);
  out.flops =
      (backward ? 10.0 : 4.0) * elements * static_cast<double>(length) * (causal ? 0.5 : 1.0);
  out.moved_bytes = 2 * elements * (backward ? 8 : 4);
  return out;
}

}  // namespace lockstep
