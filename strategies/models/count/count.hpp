#pragma once

#include <cstdint>
#include <string>

#include "strategies/models/model_config.hpp"

/// How large a model is and what it computes, in closed form from its shape.
namespace lockstep {

/// Numbers of parameters by part. Biases count with what they belong to.
struct ParameterCount {
  std::int64_t embedding = 0;  // tables of tokens and positions; the output matrix, if untied
  std::int64_t attention = 0;  // its projections
  std::int64_t mlp = 0;        // plain MLPs and the experts that all tokens visit
  std::int64_t router = 0;
  std::int64_t experts = 0;         // that tokens are routed to
  std::int64_t active_experts = 0;  // of these, what one token visits
  std::int64_t norms = 0;
  std::int64_t convolutions = 0;

  [[nodiscard]] std::int64_t total() const {
    return embedding + attention + mlp + router + experts + norms + convolutions;
  }
  /// What one token meets.
  [[nodiscard]] std::int64_t active() const { return total() - experts + active_experts; }
};

[[nodiscard]] ParameterCount count_parameters(const ModelConfig& model);

/// What counts as a model's floating-point operations.
struct FlopConvention {
  bool causal = true;      // causal attention counts for half of the square; else all of it
  bool vocabulary = true;  // the GEMM that gives the logits counts
  bool windows = false;    // of what was counted: some layers see less than all keys
  /// In words, to be printed next to an MFU.
  [[nodiscard]] std::string words() const;
};

/// Of one sample: a sequence, an image, a clip. Products, attention and convolutions alone, two
/// operations per multiply and add. On the way back every GEMM has two of its size, one for each
/// operand's gradient, but for those with the data, whose gradient nobody needs. Nothing that is
/// done again counts.
struct FlopCount {
  double forward = 0;
  double with_data = 0;     // of forward: GEMMs with the images or features themselves
  std::int64_t tokens = 1;  // of one sample; 1 where it has none
  FlopConvention convention{};

  [[nodiscard]] double training() const { return 3 * forward - with_data; }
  [[nodiscard]] double forward_per_token() const { return forward / static_cast<double>(tokens); }
  [[nodiscard]] double training_per_token() const {
    return training() / static_cast<double>(tokens);
  }
};

[[nodiscard]] FlopCount count_flops(const ModelConfig& model,
                                    const FlopConvention& convention = {});

/// The rule of thumb 6 N D: N parameters, D tokens (Kaplan et al. 2020, arXiv 2001.08361, section
/// 2.1). Neither attention's square nor the difference between look-ups and GEMMs is in it.
[[nodiscard]] double six_n_d(double parameters, double tokens);

/// What one sample is called: "sequence", "image", "clip", "sample".
[[nodiscard]] std::string sample_name(const ModelConfig& model);

}  // namespace lockstep
