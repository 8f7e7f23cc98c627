#include "strategies/models/hugging_face/keys_without_effect.hpp"

#include <algorithm>
#include <array>

namespace lockstep::hugging_face {

namespace {

constexpr std::array<std::string_view, 14> kEndings{
    "_token_id",    "_token_ids",      "_token_index", "_eps", "_epsilon",
    "_softcapping", "_theta",          "_range",       "_std", "_multiplier",
    "_base_freq",   "_implementation", "_dtype",       "_coef"};

constexpr std::array<std::string_view, 10> kBeginnings{
    "rope_", "rotary_", "output_", "summary_",      "pad_",
    "mup_",  "router_", "init_",   "transformers.", "scale_"};

constexpr std::array<std::string_view, 71> kKeys{
    // What the file is.
    "$schema", "_from_model_config", "_name_or_path", "architectures", "auto_map", "dtype",
    "model_type", "name", "prefix", "task_specific_params", "tokenizer_class", "tokenizer_name",
    "torch_dtype", "transformers_version", "verbose", "is_encoder_decoder", "is_decoder",
    "max_length", "do_sample", "onnx_safe", "bf16", "fp16", "fp32",
    // Of other programs than training's.
    "use_cache", "cache_implementation", "pretraining_tp", "ep_size", "use_flash_attn", "n_ctx",
    "n_special", "predict_special_tokens", "pre_allocate_kv_cache", "validate_runner_input",
    "inference_runner", "max_batch_size", "max_sequence_length", "gradient_checkpointing",
    // How positions are turned.
    "partial_rotary_factor", "original_max_position_embeddings", "initial_context_length",
    "original_rope", "use_dynamic_ntk", "use_logn_attn", "use_mrope", "offset_alibi", "rotary",
    // Scales, caps and precisions inside of kernels.
    "query_pre_attn_scalar", "logit_scale", "logits_scaling", "logit_cap", "scale_emb",
    "scale_depth", "dim_model_base", "swiglu_limit", "attention_softmax_in_fp32",
    "reorder_and_upcast_attn", "apply_query_key_layer_scaling", "fp32_residual_connection",
    "masked_softmax_fusion", "bias_dropout_fusion", "slow_but_exact", "skip_bias_add",
    "skip_bias_add_qkv", "mlp_type", "norm_type",
    // Which experts are chosen, and losses that balance them.
    "norm_topk_prob", "n_group", "topk_group", "topk_method", "scoring_func", "seq_aux"};

constexpr std::array<std::string_view, 9> kMoreKeys{
    "_class_name",      "_diffusers_version", "aux_loss_alpha", "routed_scaling_factor",
    "use_routing_bias", "input_jitter_noise", "clip_qkv",       "layerdrop",
    "use_qkv_fusion"};

template <class Names>
[[nodiscard]] bool contains(const Names& names, std::string_view key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

}  // namespace

bool is_without_effect(std::string_view key) {
  const auto ends = [key](std::string_view with) { return key.ends_with(with); };
  const auto begins = [key](std::string_view with) { return key.starts_with(with); };
  return contains(kKeys, key) || contains(kMoreKeys, key) ||
         std::any_of(kEndings.begin(), kEndings.end(), ends) ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(), begins);
}

}  // namespace lockstep::hugging_face
