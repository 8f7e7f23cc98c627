#include <fmt/format.h>

#include "strategies/models/hugging_face/families.hpp"
#include "strategies/models/hugging_face/parts.hpp"

namespace lockstep::hugging_face {

namespace {

/// Llama 4: every layer but each n-th attends in chunks and has rotary positions. no_rope_layers
/// says 1 for those, 0 for the others.
void read_chunks(Keys& keys, TransformerConfig& config) {
  const std::int64_t every = keys.size("no_rope_layer_interval", kMostLayers, 4);
  const std::int64_t size = keys.size("attention_chunk_size", kLongestSequence, 8192);
  config.window = AttentionWindow{
      .size = size, .chunked = true, .first_layer = 0, .full_every = every, .full_rotary = false};
  const auto check = [&](std::string_view key, auto&& windowed_by) {
    const auto found = keys.find(key);
    if (!found || !found->is_array()) return;
    std::int64_t layer = 0;
    bool fits = true;
    found->array([&](const ValueReader& each) {
      fits = windowed_by(each) == is_windowed(config, layer++) && fits;
    });
    if (layer == 0) return;  // an empty list is no list
    if (!fits || layer != config.layers) {
      found->note(
          fmt::format("only every n-th layer, here 4, without rotary positions and chunks"));
    }
  };
  check("no_rope_layers", [](const ValueReader& each) { return each.integer(0, 1) == 1; });
  check("layer_types", [](const ValueReader& each) {
    return each.one_of("kind of layer", {"chunked_attention", "full_attention"}) ==
           "chunked_attention";
  });
}

/// moe_layers lists those with experts; the pattern must be that of interleave_moe_layer_step.
void check_expert_layers(Keys& keys, const TransformerConfig& config) {
  const auto found = keys.find("moe_layers");
  if (!found) return;
  std::vector<bool> has(static_cast<std::size_t>(config.layers), false);
  found->array([&](const ValueReader& each) {
    has[static_cast<std::size_t>(each.integer(0, config.layers - 1))] = true;
  });
  for (std::int64_t i = 0; i < config.layers; ++i) {
    if (has[static_cast<std::size_t>(i)] == has_experts(config, i)) continue;
    return found->note("only every n-th layer, by interleave_moe_layer_step, can have experts");
  }
}

}  // namespace

/// MixtralConfig: no window by default.
void read_mixtral(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_window(keys, config, {});
  read_experts(keys, config, {.default_count = 8, .default_top_k = 2});
}

/// GraniteMoeConfig.
void read_granitemoe(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_attention_bias(keys, config);
  read_experts(keys, config, {.default_count = 8, .default_top_k = 2});
}

/// PhimoeConfig: layer norms, biases of attention and of the logits.
void read_phimoe(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  read_attention_bias(keys, config);
  config.norm = Normalization::layer;
  config.head_bias = keys.flag("lm_head_bias", false);
  read_window(keys, config, {});
  read_dropout(keys, config, "hidden_dropout", "", "attention_dropout", 0);
  read_experts(keys, config, {.default_count = 16, .default_top_k = 2});
}

/// MiniMaxM2Config: norms of queries and keys over all heads.
void read_minimax_m2(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config);
  if (keys.flag("use_qk_norm", true)) config.qk_norm = QueryKeyNorm::all_heads;
  read_experts(keys, config, {});
  const bool predicts = keys.flag("use_mtp", false);
  const std::int64_t layers = keys.size("mtp_transformer_layers", kMostLayers, 1);
  if (predicts && layers == 1) report_prediction_layers(keys, config, "num_mtp_modules");
  (void)keys.has("num_mtp_modules");
}

/// GptOssConfig: biases everywhere, sinks, a window in every other layer.
void read_gpt_oss(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config, {.kv_heads = 8, .head_size = 64});
  read_attention_bias(keys, config, true);
  config.sinks = true;
  config.mlp_bias = true;
  config.router_bias = true;
  read_experts(keys, config,
               {.top_k = keys.first_of({"num_experts_per_tok", "experts_per_token"}),
                .default_count = 128,
                .default_top_k = 4});
  (void)keys.has("experts_per_token");
  read_window(keys, config, {.size = 128, .full_every = 2});
}

/// Llama4TextConfig: one shared expert in addition to the routed ones, plain layers of another
/// width.
void read_llama4(Keys& keys, TransformerConfig& config) {
  read_llama_like(keys, config, {.kv_heads = 8});
  read_attention_bias(keys, config);
  read_experts(keys, config, {.default_count = 16, .default_top_k = 1});
  config.experts->shared = 1;
  config.experts->every = keys.size("interleave_moe_layer_step", kMostLayers, 1);
  config.ffn = keys.size("intermediate_size_mlp", 4 * kWidest, 16'384);
  check_expert_layers(keys, config);
  static const std::string kNoParameters =
      "use_qk_norm: these norms have no parameters and are left out";
  if (keys.flag("use_qk_norm", true)) keys.say(kNoParameters);
  read_chunks(keys, config);
}

}  // namespace lockstep::hugging_face
