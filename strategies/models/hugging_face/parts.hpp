#pragma once

#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/hugging_face/keys.hpp"

/// What families of config.json have in common. All of them fill a TransformerConfig; defaults are
/// those of transformers' configuration classes.
namespace lockstep::hugging_face {

/// What sizes are called. Empty: there is no such key.
struct SizeKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view kv_heads = "num_key_value_heads";  // empty: as many as heads
  std::string_view ffn = "intermediate_size";         // empty: 4 hidden
  std::string_view positions = "max_position_embeddings";
  std::string_view vocabulary = "vocab_size";
  std::string_view head_size = "head_dim";
};

/// Where a key is absent; 0: then it is missed, or, of heads of keys and values and of a head's
/// size, as many as heads and hidden / heads.
struct SizeDefaults {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t ffn = 0;
  std::int64_t vocabulary = 0;
  std::int64_t head_size = 0;
};

/// Sizes, and the sequence length from `seq` or else from the key for positions.
void read_sizes(Keys& keys, TransformerConfig& config, const SizeKeys& names = {},
                const SizeDefaults& defaults = {});

/// As of Llama: RMS norms, a gated MLP, rotary positions, no biases, untied.
void read_llama_like(Keys& keys, TransformerConfig& config, const SizeDefaults& defaults = {});
/// As of GPT-2, but for its keys and positions: layer norms, a plain MLP and biases.
void set_gpt_like(TransformerConfig& config, Positions positions);

/// silu in a gated MLP is swiglu, gelu geglu; every approximation of gelu is gelu.
void read_activation(Keys& keys, TransformerConfig& config, std::string_view key,
                     std::string_view fallback);
/// Of all four projections of attention by one key.
void read_attention_bias(Keys& keys, TransformerConfig& config, bool fallback = false,
                         std::string_view key = "attention_bias");
/// Dropout of the stream by `residual` (and `embedding`, which is reported where it differs) and of
/// attention's probabilities. Empty keys: there is none.
void read_dropout(Keys& keys, TransformerConfig& config, std::string_view residual,
                  std::string_view embedding, std::string_view attention, double fallback);

/// Which layers have a window, where layer_types does not say.
struct WindowPattern {
  std::int64_t size = 0;  // where sliding_window is absent; 0: then there is none
  std::int64_t first_layer = 0;
  std::int64_t full_every = 0;
  bool full_rotary = true;
};
/// By sliding_window and layer_types.
void read_window(Keys& keys, TransformerConfig& config, const WindowPattern& pattern);
/// By use_sliding_window, max_window_layers and sliding_window (Qwen).
void read_qwen_window(Keys& keys, TransformerConfig& config);

struct ExpertKeys {
  std::string_view count = "num_local_experts";
  std::string_view top_k = "num_experts_per_tok";
  std::string_view ffn = "intermediate_size";
  std::string_view shared{};  // how many every token visits
  std::int64_t default_count = 0;
  std::int64_t default_top_k = 0;
};
void read_experts(Keys& keys, TransformerConfig& config, const ExpertKeys& names);

/// Says that the layers for multi-token prediction that the file names are not built.
void tell_of_prediction(Keys& keys, const TransformerConfig& config, std::string_view key);

}  // namespace lockstep::hugging_face
