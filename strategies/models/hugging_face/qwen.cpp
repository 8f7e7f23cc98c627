#include <algorithm>

#include "strategies/models/hugging_face/families.hpp"
#include "strategies/models/hugging_face/parts.hpp"

namespace lockstep::hugging_face {

/// Qwen's own class (configuration_qwen.py): intermediate_size is that of gate and up together;
/// biases of queries, keys and values whatever no_bias says.
void read_qwen(Keys& keys, TransformerConfig& config) {
  read_sizes(keys, config, {.kv_heads = "", .head_size = "kv_channels"});
  if (config.ffn % 2 != 0) keys.refuse("intermediate_size", "gate and up together: an even number");
  config.ffn = std::max<std::int64_t>(1, config.ffn / 2);
  config.gated = true;
  config.function = ActivationFunction::swiglu;
  config.norm = Normalization::rms;
  config.positions = Positions::rotary;
  config.bias = false;
  config.qkv_bias = true;
  keys.require("no_bias", true, "biases of all projections are not read");
  read_dropout(keys, config, "", "", "attn_dropout_prob", 0);
  keys.read_tied(config, false);
}

/// Qwen2Config: biases of queries, keys and values without a key.
void read_qwen2(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  config.qkv_bias = true;
  read_qwen_window(keys, config);
}

/// The language part; its keys stand next to vision_config in old files.
void read_qwen2_vl(Keys& keys, TransformerConfig& config) {
  read_qwen2(keys, config);
}

/// MiMo's own class: Qwen2 with layers that predict further tokens.
void read_mimo(Keys& keys, TransformerConfig& config) {
  read_qwen2(keys, config);
  keys.require("attention_bias", true, "MiMo has biases of queries, keys and values");
  report_prediction_layers(keys, config, "num_nextn_predict_layers");
}

/// Qwen3Config: norms of queries and keys; head_dim 128 by default.
void read_qwen3(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config, {.head_size = 128});
  read_attention_bias(keys, config);
  config.qk_norm = QueryKeyNorm::shared;
  read_qwen_window(keys, config);
}

/// Qwen3MoeConfig: experts in every decoder_sparse_step-th layer but those of mlp_only_layers.
void read_qwen3_moe(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_attention_bias(keys, config);
  config.qk_norm = QueryKeyNorm::shared;
  read_qwen_window(keys, config);
  read_experts(keys, config,
               {.count = keys.first_of({"num_experts", "num_local_experts"}),
                .ffn = "moe_intermediate_size",
                .default_count = 128,
                .default_top_k = 8});
  config.experts->every = keys.size("decoder_sparse_step", kMostLayers, 1);
  const auto plain = keys.find("mlp_only_layers");
  if (!plain) return;
  std::int64_t dense = 0;
  bool first_ones = true;
  plain->array([&](const ValueReader& each) {
    first_ones = each.integer(0, kMostLayers) == dense++ && first_ones;
  });
  if (!first_ones) return plain->note("only the first layers can have plain MLPs here");
  config.experts->dense_layers = dense;
}

}  // namespace lockstep::hugging_face
