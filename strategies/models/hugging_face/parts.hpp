#pragma once

#include "strategies/models/files/model_readers.hpp"
#include "strategies/models/hugging_face/keys.hpp"

/// Shared by the readers of config.json families. All fill a TransformerConfig; defaults are those
/// of transformers' configuration classes.
namespace lockstep::hugging_face {

/// Names of the size keys. Empty: no such key.
struct SizeKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view kv_heads = "num_key_value_heads";  // empty: equal to heads
  std::string_view ffn = "intermediate_size";         // empty: 4 hidden
  std::string_view positions = "max_position_embeddings";
  std::string_view vocabulary = "vocab_size";
  std::string_view head_size = "head_dim";
};

/// Values of absent keys. 0: required; for KV heads: heads; for head size: hidden / heads.
struct SizeDefaults {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t ffn = 0;
  std::int64_t vocabulary = 0;
  std::int64_t head_size = 0;
};

/// Reads sizes; the sequence length comes from `seq`, else from the key for positions.
void read_sizes(Keys& keys, TransformerConfig& config, const SizeKeys& names = {},
                const SizeDefaults& defaults = {});

/// Llama-like models: RMS norm, gated MLP, rotary positions, no biases, untied.
void read_llama_like(Keys& keys, TransformerConfig& config, const SizeDefaults& defaults = {});
/// GPT-2-like models: layer norm, plain MLP, biases. Keys and positions are separate.
void set_gpt_like(TransformerConfig& config, Positions positions);

/// silu in a gated MLP is swiglu, gelu is geglu; all approximations of gelu are gelu.
void read_activation(Keys& keys, TransformerConfig& config, std::string_view key,
                     std::string_view fallback);
/// Reads one key for the biases of all four attention projections.
void read_attention_bias(Keys& keys, TransformerConfig& config, bool fallback = false,
                         std::string_view key = "attention_bias");
/// Reads dropout of the residual stream from `residual` (and `embedding`, reported if it differs)
/// and of attention probabilities. Empty keys: none.
void read_dropout(Keys& keys, TransformerConfig& config, std::string_view residual,
                  std::string_view embedding, std::string_view attention, double fallback);

/// Which layers have a window, unless layer_types specifies it.
struct WindowPattern {
  std::int64_t size = 0;  // if sliding_window is absent; 0: no window
  std::int64_t first_layer = 0;
  std::int64_t full_every = 0;
  bool full_rotary = true;
};
/// Reads sliding_window and layer_types.
void read_window(Keys& keys, TransformerConfig& config, const WindowPattern& pattern);
/// Reads use_sliding_window, max_window_layers and sliding_window (Qwen).
void read_qwen_window(Keys& keys, TransformerConfig& config);

struct ExpertKeys {
  std::string_view count = "num_local_experts";
  std::string_view top_k = "num_experts_per_tok";
  std::string_view ffn = "intermediate_size";
  std::string_view shared{};  // number of shared experts
  std::int64_t default_count = 0;
  std::int64_t default_top_k = 0;
};
void read_experts(Keys& keys, TransformerConfig& config, const ExpertKeys& names);

/// Notes that the layers for multi-token prediction in the file are not built.
void report_prediction_layers(Keys& keys, const TransformerConfig& config, std::string_view key);

}  // namespace lockstep::hugging_face
