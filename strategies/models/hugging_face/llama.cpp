#include "strategies/models/hugging_face/families.hpp"
#include "strategies/models/hugging_face/parts.hpp"

namespace lockstep::hugging_face {

/// LlamaConfig: attention_bias is that of all four projections.
void read_llama(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_attention_bias(keys, config);
  config.mlp_bias = keys.flag("mlp_bias", false);
}

/// MistralConfig: sliding_window 4096 where it is absent, none where it is null.
void read_mistral(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_window(keys, config, {.size = 4096});
}

/// Ministral3Config: no window.
void read_ministral3(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_window(keys, config, {});
}

/// GraniteConfig: Llama with multipliers.
void read_granite(Keys& keys, TransformerConfig& config) {
  read_llama(keys, config);
}

/// Phi3Config: fused projections, no biases.
void read_phi3(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_dropout(keys, config, "resid_pdrop", "embd_pdrop", "attention_dropout", 0);
  keys.require("attention_bias", false, "Phi-3 has no biases in attention");
  read_window(keys, config, {});
}

/// InternLM's own class (configuration_internlm.py): bias of all four projections.
void read_internlm(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_attention_bias(keys, config, true, "bias");
}

/// InternLM2's own class: the same, none by default.
void read_internlm2(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_attention_bias(keys, config, false, "bias");
}

/// InternLM3's own class: `bias` is that of the output and of the MLP.
void read_internlm3(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  config.qkv_bias = keys.flag("qkv_bias", false);
  config.out_bias = keys.flag("bias", false);
  config.mlp_bias = config.out_bias;
}

/// Baichuan's own classes: the 7B rotates, the 13B has ALiBi under the same model_type.
void read_baichuan(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  constexpr std::int64_t kHiddenOf13B = 5120;
  if (config.hidden == kHiddenOf13B) config.positions = Positions::none;
}

/// MiniCPM's own class: Llama with multipliers.
void read_minicpm(Keys& keys, TransformerConfig& config) {
  read_llama(keys, config);
  keys.read_tied(config, true);
}

/// StableLmConfig: layer norms around Llama's parts.
void read_stablelm(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  config.norm = Normalization::layer;
  config.qkv_bias = keys.flag("use_qkv_bias", false);
  read_dropout(keys, config, "hidden_dropout", "", "attention_dropout", 0);
  keys.require("qk_layernorm", false, "norms with a gain per head of StableLM 2 12B are not read");
  if (keys.flag("use_parallel_residual", false)) config.residual = Residual::parallel;
}

}  // namespace lockstep::hugging_face
