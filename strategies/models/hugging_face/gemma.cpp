#include "strategies/models/hugging_face/families.hpp"
#include "strategies/models/hugging_face/parts.hpp"

namespace lockstep::hugging_face {

namespace {

/// What all of Gemma has; hidden_act may say gelu and means its approximation.
void read_gemma_like(Keys& keys, TransformerConfig& config, const SizeDefaults& defaults) {
  read_llama_like(keys, config, defaults);
  read_activation(keys, config, keys.first_of({"hidden_activation", "hidden_act"}),
                  "gelu_pytorch_tanh");
  read_attention_bias(keys, config);
  keys.read_tied(config, true);
}

/// Every n-th layer has full attention: the key for n, if it is there.
[[nodiscard]] std::int64_t full_every(Keys& keys, std::int64_t fallback) {
  return keys.size(keys.first_of({"sliding_window_pattern", "_sliding_window_pattern"}),
                   kMostLayers, fallback);
}

}  // namespace

/// GemmaConfig.
void read_gemma(Keys& keys, TransformerConfig& config) {
  read_gemma_like(keys, config, {.kv_heads = 16, .head_size = 256});
}

/// Gemma2Config: a window in every other layer, the first one included; norms before and after.
void read_gemma2(Keys& keys, TransformerConfig& config) {
  read_gemma_like(keys, config, {.kv_heads = 4, .head_size = 256});
  config.norm_place = NormPlace::around;
  read_window(keys, config, {.size = 4096, .full_every = 2});
}

/// Gemma3TextConfig, whose text_config in a file of Gemma 3 gives only what differs from it.
void read_gemma3(Keys& keys, TransformerConfig& config) {
  read_gemma_like(keys, config,
                  {.hidden = 2304,
                   .layers = 26,
                   .heads = 8,
                   .kv_heads = 4,
                   .ffn = 9216,
                   .vocabulary = 262'208,
                   .head_size = 256});
  config.norm_place = NormPlace::around;
  config.qk_norm = QueryKeyNorm::shared;
  keys.require("use_bidirectional_attention", false, "attention both ways is not read");
  read_window(keys, config, {.size = 4096, .full_every = full_every(keys, 6)});
}

/// Olmo2Config: norms of what attention and MLP come to; queries and keys over all heads.
void read_olmo2(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_attention_bias(keys, config);
  config.norm_place = NormPlace::after;
  config.qk_norm = QueryKeyNorm::all_heads;
}

/// Olmo3Config: the same with three layers of windows to one without.
void read_olmo3(Keys& keys, TransformerConfig& config) {
  read_olmo2(keys, config);
  read_window(keys, config, {.size = 4096, .full_every = 4});
}

/// Exaone4Config: layers without a window have no rotary positions; "LLLG" is a pattern of four.
void read_exaone4(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  config.norm_place = NormPlace::after;
  config.qk_norm = QueryKeyNorm::shared;
  std::int64_t every = 4;
  const auto pattern = keys.find("sliding_window_pattern");
  if (pattern && pattern->is_string()) {
    every = static_cast<std::int64_t>(pattern->string().size());
  } else if (pattern) {
    every = pattern->integer(1, kMostLayers);
  }
  read_window(keys, config, {.size = 4096, .full_every = every, .full_rotary = false});
}

/// GlmConfig: biases of queries, keys and values.
void read_glm(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config, {.kv_heads = 2, .head_size = 128});
  config.qkv_bias = keys.flag("attention_bias", false);
}

/// Glm4Config: norms before and after.
void read_glm4(Keys& keys, TransformerConfig& config) {
  read_glm(keys, config);
  config.norm_place = NormPlace::around;
}

/// Glm4vTextConfig: heads of hidden / heads, biases in any case.
void read_glm4v(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config, {.kv_heads = 2});
  config.qkv_bias = keys.flag("attention_bias", true);
  config.norm_place = NormPlace::around;
}

/// ChatGLM's own class from version 2 on (configuration_chatglm.py).
void read_chatglm(Keys& keys, TransformerConfig& config) {
  const bool grouped = keys.flag("multi_query_attention", false);
  read_sizes(keys, config,
             {.layers = "num_layers",
              .kv_heads = grouped ? "multi_query_group_num" : "",
              .ffn = "ffn_hidden_size",
              .positions = "seq_length",
              .vocabulary = keys.first_of({"padded_vocab_size", "vocab_size"}),
              .head_size = "kv_channels"});
  config.gated = true;
  config.function = ActivationFunction::swiglu;
  config.norm = Normalization::rms;
  config.positions = Positions::rotary;
  config.bias = false;
  config.qkv_bias = keys.flag("add_qkv_bias", false);
  keys.require("add_bias_linear", false, "biases of all projections are not read");
  keys.require("rmsnorm", true, "layer norms are not read");
  keys.require("post_layer_norm", true, "a model without its last norm is not read");
  keys.require("apply_residual_connection_post_layernorm", false,
               "a residual stream that is normalised itself is not read");
  read_dropout(keys, config, "hidden_dropout", "", "attention_dropout", 0);
  keys.read_tied(config, false);
}

}  // namespace lockstep::hugging_face
