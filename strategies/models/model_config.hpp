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

/// Layers whose queries see some of the keys before them alone (causal attention).
struct AttentionWindow {
  std::int64_t size = 0;         // keys that a query sees at most, its own among them
  bool chunked = false;          // those of its own run of `size` tokens (Llama 4), else the last
  std::int64_t first_layer = 0;  // layers before it see all keys
  std::int64_t full_every = 0;   // every n-th layer sees all keys, the n-th first; 0: none does
  bool full_rotary = true;       // whether layers that see all keys have rotary positions

  friend bool operator==(const AttentionWindow&, const AttentionWindow&) = default;
};

enum class Positions : std::uint8_t { learned, rotary, none };
enum class AttentionKind : std::uint8_t { flash, unfused };
/// Norms of a layer: of what goes into attention and MLP, of what comes out, or of both.
enum class NormPlace : std::uint8_t { before, after, around };
/// Norms of queries and keys: none; of every head with one gain for all of them (Qwen 3), of every
/// head with its own gain (Cohere), of all heads together (OLMo 2).
enum class QueryKeyNorm : std::uint8_t { none, shared, per_head, all_heads };
/// Attention, then the MLP; or both on the same input, after one norm (GPT-J) or one each.
enum class Residual : std::uint8_t { sequential, parallel, parallel_two_norms };

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
  bool out_bias = false;  // of attention's output, where others have none
  bool mlp_bias = false;  // of MLPs and experts, where others have none
  bool router_bias = false;
  bool head_bias = false;  // of the logits
  Normalisation norm = Normalisation::layer;
  bool norm_bias = true;  // of layer norms
  NormPlace norm_place = NormPlace::before;
  QueryKeyNorm qk_norm = QueryKeyNorm::none;
  bool embedding_norm = false;
  Residual residual = Residual::sequential;
  ActivationFunction function = ActivationFunction::gelu;
  Positions positions = Positions::learned;
  std::int64_t position_rows = 0;  // of the table of learned positions; 0: one per token
  AttentionKind attention = AttentionKind::flash;
  bool sinks = false;        // a number per head that joins the softmax's sum (gpt-oss)
  bool output_layer = true;  // else the loss is of the hidden units themselves, each a class
  double dropout = 0;
  std::optional<double> attention_dropout{};  // of probabilities; none: as elsewhere
  std::optional<ExpertsConfig> experts{};
  std::optional<LatentAttention> latent{};
  std::optional<AttentionWindow> window{};

  friend bool operator==(const TransformerConfig&, const TransformerConfig&) = default;
};

/// Whether layer `index` (from 0) has experts in place of a plain MLP.
[[nodiscard]] inline bool has_experts(const TransformerConfig& config, std::int64_t index) {
  return config.experts && index >= config.experts->dense_layers &&
         (index + 1) % config.experts->every == 0;
}

/// Whether layer `index` (from 0) has the window, be the sequence longer than it or not.
[[nodiscard]] inline bool is_windowed(const TransformerConfig& config, std::int64_t index) {
  if (!config.window || index < config.window->first_layer) return false;
  return config.window->full_every == 0 || (index + 1) % config.window->full_every != 0;
}

[[nodiscard]] inline bool has_mlp_bias(const TransformerConfig& config) {
  return config.bias || config.mlp_bias;
}

/// Probability with which attention's probabilities are dropped.
[[nodiscard]] inline double attention_dropout(const TransformerConfig& config) {
  return config.attention_dropout.value_or(config.dropout);
}

/// Rows of the table of learned positions.
[[nodiscard]] inline std::int64_t position_rows(const TransformerConfig& config) {
  return config.position_rows > 0 ? config.position_rows : config.sequence;
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
  /// What a user should know of how the file was read: where the sequence length comes from, what
  /// of a config.json is not part of the program.
  std::vector<std::string> notes{};

  [[nodiscard]] const TransformerConfig* transformer() const {
    return std::get_if<TransformerConfig>(&shape);
  }
};

}  // namespace lockstep
