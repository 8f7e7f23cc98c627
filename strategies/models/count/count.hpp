#pragma once

#include <cstdint>
#include <string>

#include "strategies/models/model_config.hpp"

/// Size and FLOPs of a model in closed form.
namespace lockstep {

/// Parameters by part, biases included.
struct ParameterCount {
  /// Tables of tokens and positions, or the embedding of patches; the output matrix, if untied.
  std::int64_t embedding = 0;
  std::int64_t attention = 0;  // projections
  std::int64_t mlp = 0;        // plain MLPs and shared experts
  std::int64_t router = 0;
  std::int64_t experts = 0;         // routed experts
  std::int64_t active_experts = 0;  // the routed experts that one token activates
  std::int64_t norms = 0;
  std::int64_t modulation = 0;  // conditions of diffusion transformers and what follows from them
  std::int64_t convolutions = 0;
  std::int64_t fixed = 0;  // tables that are not trained

  [[nodiscard]] std::int64_t total() const { return trained() + fixed; }
  [[nodiscard]] std::int64_t trained() const {
    return embedding + attention + mlp + router + experts + norms + modulation + convolutions;
  }
  /// Parameters active per token.
  [[nodiscard]] std::int64_t active() const { return total() - experts + active_experts; }
};

[[nodiscard]] ParameterCount count_parameters(const ModelConfig& model);

/// Convention for counting a model's FLOPs.
struct FlopConvention {
  bool causal = true;      // causal attention counts half of the score matrix
  bool vocabulary = true;  // the output GEMM counts
  bool windows = false;    // some layers have a window (set by counting)
  bool documents = false;  // sequences hold several documents (set by counting)
  /// Of the tokens sent to experts, at most so many are computed: a capacity factor below 1.
  double admitted = 1;
  /// Sequences of a step, over which the mean is taken where documents differ between them; 0: over
  /// all that are listed, or the first 1,024 that are drawn.
  std::int64_t sequences = 0;
  /// The convention in words, printed with an MFU.
  [[nodiscard]] std::string words() const;
};

/// FLOPs of one sample (a sequence, image or clip): GEMMs, attention and convolutions, two per
/// multiply-add. Backward of a GEMM has two GEMMs of its size, one per operand, except with input
/// data, whose gradient is not needed. Recomputation does not count.
struct FlopCount {
  double forward = 0;
  double with_data = 0;     // forward GEMMs with the input data
  std::int64_t tokens = 1;  // per sample; 1 if it has none
  FlopConvention convention{};

  [[nodiscard]] double training() const { return 3 * forward - with_data; }
  [[nodiscard]] double forward_per_token() const { return forward / static_cast<double>(tokens); }
  [[nodiscard]] double training_per_token() const {
    return training() / static_cast<double>(tokens);
  }
};

[[nodiscard]] FlopCount count_flops(const ModelConfig& model,
                                    const FlopConvention& convention = {});

/// The estimate 6 N D with N parameters and D tokens (Kaplan et al. 2020, arXiv 2001.08361, section
/// 2.1). Excludes the quadratic part of attention; counts embeddings as GEMMs.
[[nodiscard]] double six_n_d(double parameters, double tokens);

/// The name of one sample: "sequence", "image", "clip", "sample".
[[nodiscard]] std::string sample_name(const ModelConfig& model);

}  // namespace lockstep
