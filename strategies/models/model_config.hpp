#pragma once

#include <algorithm>
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
  std::int64_t ffn = 0;           // inner dimension of one routed expert
  std::int64_t shared = 0;        // shared experts, used by every token
  std::int64_t shared_ffn = 0;    // inner dimension of one shared expert
  std::int64_t dense_layers = 0;  // leading layers with a plain MLP
  std::int64_t every = 1;         // every n-th layer has experts, starting with the n-th
  /// Groups of as many experts in order, of which a token goes to those of `group_top_k` (DeepSeek;
  /// node-limited routing where a group is a node's experts).
  std::int64_t groups = 1;
  std::int64_t group_top_k = 1;

  friend bool operator==(const ExpertsConfig&, const ExpertsConfig&) = default;
};

/// Multi-head latent attention (DeepSeek): keys and values from a low-rank latent vector.
struct LatentAttention {
  std::int64_t query_rank = 0;  // 0: queries are not compressed
  std::int64_t kv_rank = 512;
  std::int64_t key_size = 128;    // per head, without rotary positions
  std::int64_t rotary_size = 64;  // per head, shared by all heads' keys
  std::int64_t value_size = 128;

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// Layers with sliding-window or chunked causal attention.
struct AttentionWindow {
  std::int64_t size = 0;         // keys visible to a query, including its own
  bool chunked = false;          // chunked attention (Llama 4) instead of a sliding window
  std::int64_t first_layer = 0;  // earlier layers have full attention
  std::int64_t full_every =
      0;                    // every n-th layer has full attention, starting with the n-th; 0: none
  bool full_rotary = true;  // whether layers with full attention have rotary positions

  friend bool operator==(const AttentionWindow&, const AttentionWindow&) = default;
};

/// Multi-token prediction (DeepSeek-V3): modules behind the last layer, each a layer like the last
/// one, that predict further tokens with the model's own embedding and output layer.
struct TokenPrediction {
  std::int64_t layers = 1;         // modules, one layer and one further token each
  double loss_scaling_factor = 0;  // of the mean of their losses in the loss

  friend bool operator==(const TokenPrediction&, const TokenPrediction&) = default;
};

/// Images as input, cut into patches that are tokens, and one label per image (vision transformers;
/// Dosovitskiy et al. 2021, arXiv 2010.11929).
struct ImageInput {
  std::int64_t side = 224;  // width and height in pixels
  std::int64_t patch = 16;  // the same of a patch
  std::int64_t channels = 3;
  bool class_token = true;  // a learned token before the patches is classified; else their mean

  [[nodiscard]] std::int64_t patches() const { return side / patch * (side / patch); }
  /// The sequence length.
  [[nodiscard]] std::int64_t tokens() const { return patches() + (class_token ? 1 : 0); }
  /// Values of a patch, which its embedding contracts.
  [[nodiscard]] std::int64_t patch_values() const { return patch * patch * channels; }

  friend bool operator==(const ImageInput&, const ImageInput&) = default;
};

/// A denoiser of latent images whose layers are conditioned by one vector per image (diffusion
/// transformers with adaLN-Zero; Peebles and Xie 2023, arXiv 2212.09748, section 3.2): an MLP of
/// the timestep's frequencies plus the row of its label. `image` are the latents.
struct DiffusionTransformer {
  std::int64_t frequencies = 256;  // sines and cosines of a timestep
  bool learned_variance = true;    // predicted next to the noise

  /// Values that are predicted for each of a patch.
  [[nodiscard]] std::int64_t predictions() const { return learned_variance ? 2 : 1; }

  friend bool operator==(const DiffusionTransformer&, const DiffusionTransformer&) = default;
};

/// A stack of layers that read the input in both directions, in front of the model's own layers,
/// which attend to its result as well (T5; Raffel et al. 2020, arXiv 1910.10683). Queries and keys
/// of both stacks have relative positions: a table per stack of a number for each head and bucket
/// of distances.
struct EncoderStack {
  std::int64_t layers = 1;
  std::int64_t sequence = 1;  // tokens of the input
  std::int64_t buckets = 32;

  friend bool operator==(const EncoderStack&, const EncoderStack&) = default;
};

enum class Positions : std::uint8_t { learned, rotary, none };
enum class AttentionKind : std::uint8_t { flash, unfused };
/// Position of norms relative to attention and MLP: pre-norm, post-norm, or both.
enum class NormPlace : std::uint8_t { before, after, around };
/// Norms of queries and keys: none; per head with one shared gain (Qwen 3); per head with its own
/// gain (Cohere); over all heads together (OLMo 2).
enum class QueryKeyNorm : std::uint8_t { none, shared, per_head, all_heads };
/// Attention, then MLP; or both on the same input, after one norm (GPT-J) or two.
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
  bool qkv_bias = false;  // only queries, keys and values have biases
  bool out_bias = false;  // only the attention output has a bias
  bool mlp_bias = false;  // only MLPs and experts have biases
  bool router_bias = false;
  bool head_bias = false;  // of the logits
  Normalization norm = Normalization::layer;
  bool norm_gain = true;  // norms have weights
  bool norm_bias = true;  // of layer norms
  NormPlace norm_place = NormPlace::before;
  QueryKeyNorm qk_norm = QueryKeyNorm::none;
  bool embedding_norm = false;
  Residual residual = Residual::sequential;
  ActivationFunction function = ActivationFunction::gelu;
  Positions positions = Positions::learned;
  std::int64_t position_rows = 0;  // rows of the learned position table; 0: one per token
  AttentionKind attention = AttentionKind::flash;
  bool sinks = false;        // attention sinks: a learned logit per head (gpt-oss)
  bool output_layer = true;  // false: the loss is taken of the hidden units, each a class
  double dropout = 0;
  std::optional<double> attention_dropout{};  // of attention probabilities; none: `dropout`
  std::optional<ExpertsConfig> experts{};
  std::optional<LatentAttention> latent{};
  std::optional<AttentionWindow> window{};
  /// Tokens of the documents packed into every sequence, in order and from the first again until it
  /// is full; tokens attend to their own document. Empty: a sequence is one document.
  std::vector<std::int64_t> documents{};
  PackedDocuments packed{};  // instead, where sequences differ
  std::optional<TokenPrediction> mtp{};
  /// `sequence` is then its tokens, `vocabulary` the number of classes.
  std::optional<ImageInput> image{};
  /// There is then an image; `vocabulary` is the number of classes, of no label another.
  std::optional<DiffusionTransformer> diffusion{};
  /// `layers` and `sequence` are then those of the decoder.
  std::optional<EncoderStack> encoder{};

  friend bool operator==(const TransformerConfig&, const TransformerConfig&) = default;
};

/// Whether all layers read an activation of an earlier one: what an encoder made, or conditions.
[[nodiscard]] inline bool shares_activation(const TransformerConfig& config) {
  return config.encoder || config.diffusion;
}

/// Whether layer `index` (from 0) has experts instead of a plain MLP.
[[nodiscard]] inline bool has_experts(const TransformerConfig& config, std::int64_t index) {
  return config.experts && index >= config.experts->dense_layers &&
         (index + 1) % config.experts->every == 0;
}

/// Whether some sequences hold several documents.
[[nodiscard]] inline bool has_documents(const TransformerConfig& config) {
  if (config.packed.drawn) return true;
  const auto parts = [&config](const std::vector<std::int64_t>& documents) {
    return !documents.empty() && documents.front() < config.sequence;
  };
  return parts(config.documents) ||
         std::any_of(config.packed.lists.begin(), config.packed.lists.end(), parts);
}

/// Whether layer `index` (from 0) has windowed attention, even if the sequence is shorter.
[[nodiscard]] inline bool is_windowed(const TransformerConfig& config, std::int64_t index) {
  if (!config.window || index < config.window->first_layer) return false;
  return config.window->full_every == 0 || (index + 1) % config.window->full_every != 0;
}

/// Layers with those of multi-token prediction, which are of the last layer's kind.
[[nodiscard]] inline std::int64_t all_layers(const TransformerConfig& config) {
  return config.layers + (config.mtp ? config.mtp->layers : 0);
}

/// Tokens of a sample, those of the input included.
[[nodiscard]] inline std::int64_t all_tokens(const TransformerConfig& config) {
  return config.sequence + (config.encoder ? config.encoder->sequence : 0);
}

[[nodiscard]] inline bool has_mlp_bias(const TransformerConfig& config) {
  return config.bias || config.mlp_bias;
}

/// Dropout probability of attention probabilities.
[[nodiscard]] inline double attention_dropout(const TransformerConfig& config) {
  return config.attention_dropout.value_or(config.dropout);
}

/// Rows of the learned position table.
[[nodiscard]] inline std::int64_t position_rows(const TransformerConfig& config) {
  return config.position_rows > 0 ? config.position_rows : config.sequence;
}

/// Pairs of linear layers with an activation between them. The loss is the cross-entropy of the
/// output, each unit a class.
struct MlpConfig {
  std::int64_t hidden = 1;
  std::int64_t ffn = 1;
  std::int64_t layers = 1;  // pairs hidden -> ffn -> hidden, each with a residual connection
  ActivationFunction function = ActivationFunction::gelu;
  bool bias = false;
};

/// ResNet with bottleneck blocks; `frames` > 1: clips, with temporal shift (TSM) in every block.
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
  std::string source;    // of the parameters
  std::string family{};  // of models, by which lists group them; empty: none
  /// Notes for the user on how the file was read: source of the sequence length, parts of a
  /// config.json that are not simulated.
  std::vector<std::string> notes{};

  [[nodiscard]] const TransformerConfig* transformer() const {
    return std::get_if<TransformerConfig>(&shape);
  }
  /// Whether its samples are sequences of tokens, by which work is then measured.
  [[nodiscard]] bool reads_text() const {
    return transformer() != nullptr && !transformer()->image;
  }
  /// Whether it is a decoder alone, as GPT.
  [[nodiscard]] bool is_decoder() const { return reads_text() && !transformer()->encoder; }
};

}  // namespace lockstep
