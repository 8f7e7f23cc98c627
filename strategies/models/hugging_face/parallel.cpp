#include "strategies/models/hugging_face/families.hpp"
#include "strategies/models/hugging_face/parts.hpp"

namespace lockstep::hugging_face {

/// GPTNeoXConfig: a norm each for attention and MLP on the same input.
void read_gpt_neox(Keys& keys, TransformerConfig& config) {
  set_gpt_like(config, Positions::rotary);
  read_sizes(keys, config, {.kv_heads = ""});
  read_activation(keys, config, "hidden_act", "gelu");
  if (!keys.flag("attention_bias", true)) {
    config.bias = false;
    config.mlp_bias = true;
  }
  if (keys.flag("use_parallel_residual", true)) config.residual = Residual::parallel_two_norms;
  read_dropout(keys, config, "hidden_dropout", "", "attention_dropout", 0);
  keys.read_tied(config, false);
}

/// GPTJConfig and CodeGenConfig: one norm for both, biases of the MLP and of the logits.
void read_gptj(Keys& keys, TransformerConfig& config) {
  set_gpt_like(config, Positions::rotary);
  read_sizes(keys, config,
             {.hidden = "n_embd",
              .layers = "n_layer",
              .heads = "n_head",
              .kv_heads = "",
              .ffn = keys.find("n_inner") ? "n_inner" : "",
              .positions = "n_positions",
              .head_size = ""});
  read_activation(keys, config, "activation_function", "gelu_new");
  config.bias = false;
  config.mlp_bias = true;
  config.residual = Residual::parallel;
  read_dropout(keys, config, "resid_pdrop", "embd_pdrop", "attn_pdrop", 0);
  keys.read_tied(config, false);
  config.head_bias = true;
}

/// PhiConfig: one norm for both, biases everywhere.
void read_phi(Keys& keys, TransformerConfig& config) {
  set_gpt_like(config, Positions::rotary);
  read_sizes(keys, config, {.head_size = ""});
  read_activation(keys, config, "hidden_act", "gelu_new");
  config.residual = Residual::parallel;
  read_dropout(keys, config, "resid_pdrop", "embd_pdrop", "attention_dropout", 0);
  keys.require("qk_layernorm", false, "layer norms of queries and keys are not read");
  keys.read_tied(config, false);
  config.head_bias = true;
}

/// FalconConfig, and the older form's n_head, n_layer: groups of heads and two norms in the new
/// decoder, one head of keys and values and one norm in the old one.
void read_falcon(Keys& keys, TransformerConfig& config) {
  set_gpt_like(config, Positions::rotary);
  const bool grouped = keys.flag("new_decoder_architecture", false);
  const bool one_head = keys.flag("multi_query", true);
  read_sizes(keys, config,
             {.layers = keys.first_of({"num_hidden_layers", "n_layer"}),
              .heads = keys.first_of({"num_attention_heads", "n_head"}),
              .kv_heads = grouped ? keys.first_of({"num_kv_heads", "n_head_kv"}) : "",
              .ffn = keys.find("ffn_hidden_size") ? "ffn_hidden_size" : "",
              .head_size = ""});
  if (!grouped && one_head) config.kv_heads = 1;
  (void)keys.has("num_kv_heads");
  (void)keys.has("n_head_kv");
  keys.require("apply_residual_connection_post_layernorm", false,
               "a residual stream that is normalised itself is not read");
  read_activation(keys, config, "activation", "gelu");
  config.bias = keys.flag("bias", false);
  const std::int64_t norms = keys.count("num_ln_in_parallel_attn", 2, grouped ? 2 : 1);
  if (grouped || keys.flag("parallel_attn", true)) {
    config.residual = grouped && norms == 2 ? Residual::parallel_two_norms : Residual::parallel;
  }
  (void)keys.has("parallel_attn");
  if (keys.flag("alibi", false)) config.positions = Positions::none;
  read_dropout(keys, config, "hidden_dropout", "", "attention_dropout", 0);
  keys.read_tied(config, true);
}

/// CohereConfig: one layer norm without bias for both, a gated MLP.
void read_cohere(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_attention_bias(keys, config);
  config.norm = Normalization::layer;
  config.norm_bias = false;
  config.residual = Residual::parallel;
  if (keys.flag("use_qk_norm", false)) config.qk_norm = QueryKeyNorm::per_head;
  keys.read_tied(config, true);
}

/// Cohere2Config: three layers of windows to one without, which has no rotary positions.
void read_cohere2(Keys& keys, TransformerConfig& config) {
  read_cohere(keys, config);
  const std::string_view pattern =
      keys.first_of({"sliding_window_pattern", "_sliding_window_pattern"});
  read_window(
      keys, config,
      {.size = 4096, .full_every = keys.size(pattern, kMostLayers, 4), .full_rotary = false});
}

}  // namespace lockstep::hugging_face
