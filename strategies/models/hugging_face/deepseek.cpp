#include <algorithm>

#include "strategies/models/hugging_face/families.hpp"
#include "strategies/models/hugging_face/parts.hpp"

namespace lockstep::hugging_face {

namespace {

/// Experts in all layers but the first ones.
void read_later_experts(Keys& keys, TransformerConfig& config) {
  read_experts(
      keys, config,
      {.count = "n_routed_experts", .ffn = "moe_intermediate_size", .shared = "n_shared_experts"});
  // The first class of routers, "greedy", has no groups to choose (DeepSeek-V2-Lite).
  const std::int64_t groups = std::max<std::int64_t>(1, keys.count("n_group", kMostExperts, 1));
  const std::int64_t chosen = std::max<std::int64_t>(1, keys.count("topk_group", kMostExperts, 1));
  const bool fits = config.experts->experts % groups == 0 && chosen <= groups &&
                    config.experts->experts / groups * chosen >= config.experts->top_k;
  if (groups > 1 && !fits)
    keys.refuse("n_group",
                "groups of equally many experts, of which topk_group have as many as a "
                "token goes to");
  config.experts->groups = groups;
  config.experts->group_top_k = chosen;
  config.experts->dense_layers = keys.count("first_k_dense_replace", config.layers, 0);
  if (keys.size("moe_layer_freq", kMostLayers, 1) != 1) {
    keys.refuse("moe_layer_freq", "only experts in every layer behind the first ones are read");
  }
}

/// q_lora_rank: queries are not compressed where it is null; 1536 where it is absent.
void read_latent(Keys& keys, TransformerConfig& config, std::int64_t value_size) {
  LatentAttention latent;
  const auto rank = keys.find("q_lora_rank");
  latent.query_rank = rank ? rank->integer(1, kWidest) : keys.has("q_lora_rank") ? 0 : 1536;
  latent.kv_rank = keys.size("kv_lora_rank", kWidest);
  latent.key_size = keys.size("qk_nope_head_dim", kWidest);
  latent.rotary_size = keys.size("qk_rope_head_dim", kWidest);
  latent.value_size = keys.size("v_head_dim", kWidest, value_size);
  config.kv_heads = config.heads;
  config.head_size = latent.key_size + latent.rotary_size;
  config.latent = latent;
  (void)keys.has("qk_head_dim");
  keys.require("attention_bias", false, "biases of compressed projections are not read");
}

}  // namespace

/// DeepSeek's own first class (configuration_deepseek.py): ordinary attention.
void read_deepseek(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_attention_bias(keys, config);
  read_later_experts(keys, config);
}

/// DeepseekV2Config, DeepseekV3Config and Kimi K2's.
void read_deepseek_v2(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config, {.head_size = 1});
  read_latent(keys, config, 0);
  if (keys.find("index_topk")) {
    keys.refuse("index_topk", "sparse attention by an indexer is not modeled");
  }
  read_later_experts(keys, config);
  report_prediction_layers(keys, config, "num_nextn_predict_layers");
}

/// MiniCPM3's own class: latent attention with a plain MLP.
void read_minicpm3(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config, {.head_size = 1});
  read_latent(keys, config, std::max<std::int64_t>(1, config.hidden / config.heads));
  keys.read_tied(config, true);
}

/// Glm4MoeConfig: ordinary attention, biases of queries, keys and values, norms where use_qk_norm.
void read_glm4_moe(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config, {.head_size = 128});
  config.qkv_bias = keys.flag("attention_bias", false);
  if (keys.flag("use_qk_norm", false)) config.qk_norm = QueryKeyNorm::shared;
  read_later_experts(keys, config);
  report_prediction_layers(keys, config, "num_nextn_predict_layers");
}

}  // namespace lockstep::hugging_face
