#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/program/operation.hpp"

/// Models as their files describe them (configs/models, Hugging Face config.json).
namespace lockstep {

struct ExpertsConfig {
  std::int64_t experts = 8;
  std::int64_t top_k = 2;
  std::int64_t ffn = 0;           // inner dimension of one expert
  std::int64_t shared = 0;        // experts that every token visits
  std::int64_t shared_ffn = 0;    // inner dimension of each of those
  std::int64_t dense_layers = 0;  // first layers that have a plain MLP instead
  std::int64_t every = 1;         // every n-th layer has experts, the n-th first

  friend bool operator==(const ExpertsConfig&, const ExpertsConfig&) = default;
};

/// Multi-head latent attention (DeepSeek): keys and values from a compressed vector.
struct LatentAttention {
  std::int64_t query_rank = 0;  // 0: queries are not compressed
  std::int64_t kv_rank = 512;
  std::int64_t key_size = 128;    // per head, without rotary positions
  std::int64_t rotary_size = 64;  // per head, shared by all heads' keys
  std::int64_t value_size = 128;

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

enum class Positions : std::uint8_t { learned, rotary, none };
enum class AttentionKind : std::uint8_t { flash, unfused };

struct TransformerConfig {
  std::int64_t layers = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_size = 1;
  std::int64_t ffn = 1;
  bool gated = false;
  std::int64_t sequence = 1;
  std::int64_t vocabulary = 1;
  bool tied_embeddings = false;
  bool causal = true;
  bool bias = true;       // of the projections
  bool qkv_bias = false;  // of those of queries, keys and values, where others have none
  Normalisation norm = Normalisation::layer;
  ActivationFunction function = ActivationFunction::gelu;
  Positions positions = Positions::learned;
  AttentionKind attention = AttentionKind::flash;
  double dropout = 0;
  std::optional<ExpertsConfig> experts{};
  std::optional<LatentAttention> latent{};

  friend bool operator==(const TransformerConfig&, const TransformerConfig&) = default;
};

/// Whether layer `index` (from 0) has experts in place of a plain MLP.
[[nodiscard]] inline bool has_experts(const TransformerConfig& config, std::int64_t index) {
  return config.experts && index >= config.experts->dense_layers &&
         (index + 1) % config.experts->every == 0;
}

/// Pairs of layers with an activation between. The loss is the cross-entropy of what comes out,
/// each unit a class.
struct MlpConfig {
  std::int64_t hidden = 1;
  std::int64_t ffn = 1;
  std::int64_t layers = 1;  // pairs hidden -> ffn -> hidden, each added to what came in
  ActivationFunction function = ActivationFunction::gelu;
  bool bias = false;
};

/// ResNet with bottlenecks; `frames` > 1: clips, with temporal shift (TSM) in every block.
struct ResNetConfig {
  std::vector<std::int64_t> stages{3, 4, 6, 3};
  std::int64_t width = 64;
  std::int64_t image = 224;
  std::int64_t classes = 1000;
  std::int64_t frames = 1;
  bool temporal_shift = false;
};

struct ModelConfig {
  std::string name;
  std::variant<TransformerConfig, MlpConfig, ResNetConfig> shape{};
  std::string source;  // where the figures come from

  [[nodiscard]] const TransformerConfig* transformer() const {
    return std::get_if<TransformerConfig>(&shape);
  }
};

}  // namespace lockstep
