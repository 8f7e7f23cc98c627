#pragma once

#include <cstdint>

#include "sim/program/program.hpp"
#include "strategies/models/model_config.hpp"

/// Small one-device programs to be timed.
namespace lockstep {

/// One GEMM: m * k by k * n.
[[nodiscard]] Program gemm_program(std::int64_t m, std::int64_t n, std::int64_t k, Dtype dtype);

struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t sequence = 1024;
  std::int64_t heads = 8;
  std::int64_t head_size = 64;
  bool causal = true;
};
/// Fused attention, then its gradient.
[[nodiscard]] Program attention_program(const AttentionShape& shape, Dtype dtype);

struct TransformerShape {
  bool llama = false;  // Llama: rotary positions, RMS norm, gated MLP, no biases; otherwise GPT-2
  std::int64_t layers = 1;
  std::int64_t hidden = 256;
  std::int64_t heads = 4;
  std::int64_t sequence = 128;
  std::int64_t vocabulary = 1024;
  std::int64_t micro_batch = 1;
  std::int64_t experts = 0;  // per layer, two of them active; 0: a plain MLP
  bool unfused = false;      // attention that stores its scores
  double dropout = 0;
};
/// A training step with Adam; with a 16-bit `dtype`, master weights and moments in fp32.
[[nodiscard]] Program transformer_program(const TransformerShape& shape, Dtype dtype);

struct ImageShape {
  std::int64_t image = 32;  // height and width
  std::int64_t width = 8;   // channels of the first stage
  std::int64_t classes = 16;
  std::int64_t micro_batch = 2;  // clips of two frames
};
/// A training step of a ResNet-50 with temporal shift (He et al., arXiv 1512.03385; Lin et al.,
/// arXiv 1811.08383).
[[nodiscard]] Program image_program(const ImageShape& shape, Dtype dtype);

}  // namespace lockstep
