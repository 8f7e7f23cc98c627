#include "strategies/models/hugging_face/families.hpp"
#include "strategies/models/hugging_face/parts.hpp"

namespace lockstep::hugging_face {

namespace {

/// A table of learned positions with as many rows as the key says and `more`.
void read_position_rows(Keys& keys, TransformerConfig& config, std::string_view key,
                        std::int64_t more) {
  const std::int64_t rows = keys.size(key, kLongestSequence) + more;
  if (rows != config.sequence) config.position_rows = rows;
}

void read_gpt2_sizes(Keys& keys, TransformerConfig& config) {
  read_sizes(keys, config,
             {.hidden = "n_embd",
              .layers = "n_layer",
              .heads = "n_head",
              .kv_heads = "",
              .ffn = keys.find("n_inner") ? "n_inner" : "",
              .positions = "n_positions",
              .head_size = ""});
  read_dropout(keys, config, "resid_pdrop", "embd_pdrop", "attn_pdrop", 0.1);
}

constexpr std::string_view kNormalisedStream =
    "a residual stream that is normalised itself is not read";

}  // namespace

/// GPT2Config: tied, dropout 0.1, an inner dimension of 4 n_embd.
void read_gpt2(Keys& keys, TransformerConfig& config) {
  set_gpt_like(config, Positions::learned);
  read_gpt2_sizes(keys, config);
  read_position_rows(keys, config, "n_positions", 0);
  read_activation(keys, config, "activation_function", "gelu_new");
  keys.require("add_cross_attention", false, "attention to another stack is not read");
  keys.read_tied(config, true);
}

/// GPTBigCodeConfig: the same with one head of keys and values.
void read_gpt_bigcode(Keys& keys, TransformerConfig& config) {
  read_gpt2(keys, config);
  if (keys.flag("multi_query", true)) config.kv_heads = 1;
}

/// OPTConfig: two rows of positions more than positions (OPTLearnedPositionalEmbedding).
void read_opt(Keys& keys, TransformerConfig& config) {
  set_gpt_like(config, Positions::learned);
  read_sizes(keys, config, {.kv_heads = "", .ffn = "ffn_dim", .head_size = ""});
  read_position_rows(keys, config, "max_position_embeddings", 2);
  read_activation(keys, config, "activation_function", "relu");
  read_dropout(keys, config, "dropout", "", "attention_dropout", 0.1);
  if (!keys.find("attention_dropout") && config.dropout > 0) config.attention_dropout = 0;
  config.bias = keys.flag("enable_bias", true);
  keys.require("do_layer_norm_before", true, kNormalisedStream);
  keys.require("_remove_final_layer_norm", false, "a model without its last norm is not read");
  keys.require("layer_norm_elementwise_affine", true, "norms without gains are not read");
  if (keys.size("word_embed_proj_dim", kWidest, config.hidden) != config.hidden) {
    keys.refuse("word_embed_proj_dim", "an embedding of another width than the stream is not read");
  }
  keys.read_tied(config, true);
}

/// BloomConfig: a norm behind the embedding, ALiBi.
void read_bloom(Keys& keys, TransformerConfig& config) {
  set_gpt_like(config, Positions::none);
  read_sizes(keys, config,
             {.hidden = keys.first_of({"hidden_size", "n_embed"}),
              .layers = keys.first_of({"n_layer", "num_hidden_layers"}),
              .heads = keys.first_of({"n_head", "num_attention_heads"}),
              .kv_heads = "",
              .ffn = keys.find("n_inner") ? "n_inner" : "",
              .positions = "seq_length",
              .head_size = ""});
  config.embedding_norm = true;
  config.function = ActivationFunction::gelu;
  read_dropout(keys, config, "hidden_dropout", "", "attention_dropout", 0);
  keys.require("apply_residual_connection_post_layernorm", false, kNormalisedStream);
  keys.read_tied(config, true);
}

/// MptConfig: ALiBi, no biases, in norms neither.
void read_mpt(Keys& keys, TransformerConfig& config) {
  set_gpt_like(config, Positions::none);
  read_sizes(keys, config,
             {.hidden = "d_model",
              .layers = "n_layers",
              .heads = "n_heads",
              .kv_heads = "",
              .ffn = "",
              .positions = "max_seq_len",
              .head_size = ""});
  config.ffn = keys.size("expansion_ratio", 64, 4) * config.hidden;
  keys.require("no_bias", true, "biases are not read");
  config.bias = false;
  config.norm_bias = false;
  read_dropout(keys, config, "resid_pdrop", keys.first_of({"emb_pdrop", "emb_prob_drop"}), "", 0);
  if (const auto attention = keys.find("attn_config"); attention && attention->is_object()) {
    attention->object([&config](ObjectReader& in) {
      (void)in.all();
      Keys inner{in};
      inner.require("alibi", true, "MPT without ALiBi has learned positions, which are not read");
      inner.require("qk_ln", false, "norms of queries and keys are not read");
      const bool one = inner.find("attn_type") &&
                       inner.find("attn_type")->value()->get_if<std::string>() != nullptr &&
                       inner.find("attn_type")->string() == "multiquery_attention";
      config.kv_heads = one ? 1 : inner.size("kv_n_heads", kMostHeads, config.heads);
    });
  }
  keys.read_tied(config, true);
}

/// Starcoder2Config: rotary positions, groups of heads, use_bias for all projections.
void read_starcoder2(Keys& keys, TransformerConfig& config) {
  set_gpt_like(config, Positions::rotary);
  read_sizes(keys, config, {.head_size = ""}, {.kv_heads = 2});
  read_activation(keys, config, "hidden_act", "gelu_pytorch_tanh");
  config.bias = keys.flag("use_bias", true);
  read_dropout(keys, config, "residual_dropout", "embedding_dropout", "attention_dropout", 0);
  read_window(keys, config, {});
  keys.read_tied(config, true);
}

/// NemotronConfig: squared ReLU, layer norms, no biases of projections.
void read_nemotron(Keys& keys, TransformerConfig& config) {
  set_gpt_like(config, Positions::rotary);
  config.bias = false;
  read_sizes(keys, config);
  read_activation(keys, config, "hidden_act", "relu2");
  read_attention_bias(keys, config);
  config.mlp_bias = keys.flag("mlp_bias", false);
  read_dropout(keys, config, "", "", "attention_dropout", 0);
  keys.read_tied(config, false);
}

}  // namespace lockstep::hugging_face
