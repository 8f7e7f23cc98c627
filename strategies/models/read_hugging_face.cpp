#include <fmt/format.h>

#include <array>

#include "strategies/models/model_readers.hpp"

namespace lockstep {

namespace {

/// Reads members where null counts as absent, as Hugging Face's own loader has it.
class Keys {
 public:
  explicit Keys(ObjectReader& in) : in_{in} {}

  [[nodiscard]] std::optional<ValueReader> find(std::string_view key) {
    auto found = in_.optional(key);
    const bool null =
        found && found->value() != nullptr && found->value()->get_if<std::nullptr_t>() != nullptr;
    return null ? std::nullopt : found;
  }
  std::int64_t size(std::string_view key, std::int64_t most) { return in_.integer(key, 1, most); }
  std::int64_t size(std::string_view key, std::int64_t most, std::int64_t fallback) {
    const auto found = find(key);
    return found ? found->integer(1, most) : fallback;
  }
  bool flag(std::string_view key, bool fallback) {
    const auto found = find(key);
    return found ? found->boolean() : fallback;
  }
  double rate(std::string_view key, double fallback) {
    const auto found = find(key);
    return found ? found->number(0, 0.999) : fallback;
  }
  [[nodiscard]] ObjectReader& in() { return in_; }

 private:
  ObjectReader& in_;
};

/// silu in a gated MLP is swiglu here; every approximation of gelu is gelu.
ActivationFunction activation(Keys& keys, std::string_view key, bool gated,
                              std::string_view fallback) {
  const auto found = keys.find(key);
  const std::string name =
      found ? found->one_of("activation", {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh",
                                           "silu", "swish", "relu"})
            : std::string{fallback};
  if (gated) return ActivationFunction::swiglu;
  if (name == "relu") return ActivationFunction::relu;
  return name == "silu" || name == "swish" ? ActivationFunction::silu : ActivationFunction::gelu;
}

void default_head_size(Keys& keys, TransformerConfig& config, std::string_view heads_key) {
  config.head_size =
      keys.size("head_dim", kWidest, std::max<std::int64_t>(1, config.hidden / config.heads));
  if (!keys.find("head_dim") && config.hidden % config.heads != 0) {
    keys.in().note(heads_key, fmt::format("a hidden size of {} is not divisible by {} heads",
                                          config.hidden, config.heads));
  }
}

/// GPT2Config's defaults: tied embeddings, dropout 0.1, an inner dimension of 4 n_embd.
TransformerConfig read_gpt2(Keys& keys) {
  TransformerConfig config;
  config.hidden = keys.size("n_embd", kWidest);
  config.layers = keys.size("n_layer", kMostLayers);
  config.heads = keys.size("n_head", kMostHeads);
  config.kv_heads = config.heads;
  config.ffn = keys.size("n_inner", 4 * kWidest, 4 * config.hidden);
  config.sequence = keys.size("n_positions", kLongestSequence);
  config.vocabulary = keys.size("vocab_size", kMostWords);
  config.tied_embeddings = keys.flag("tie_word_embeddings", true);
  config.dropout = keys.rate("resid_pdrop", 0.1);
  config.function = activation(keys, "activation_function", false, "gelu_new");
  default_head_size(keys, config, "n_head");
  return config;
}

/// The keys that all but GPT-2 share.
TransformerConfig read_common(Keys& keys) {
  TransformerConfig config;
  config.hidden = keys.size("hidden_size", kWidest);
  config.layers = keys.size("num_hidden_layers", kMostLayers);
  config.heads = keys.size("num_attention_heads", kMostHeads);
  config.kv_heads = keys.size("num_key_value_heads", kMostHeads, config.heads);
  config.ffn = keys.size("intermediate_size", 4 * kWidest);
  config.sequence = keys.size("max_position_embeddings", kLongestSequence);
  config.vocabulary = keys.size("vocab_size", kMostWords);
  config.tied_embeddings = keys.flag("tie_word_embeddings", false);
  config.positions = Positions::rotary;
  return config;
}

/// Parallel residuals do the same work as the usual ones, which are laid down.
TransformerConfig read_gpt_neox(Keys& keys) {
  TransformerConfig config = read_common(keys);
  config.kv_heads = config.heads;
  config.function = activation(keys, "hidden_act", false, "gelu");
  config.dropout = keys.rate("hidden_dropout", 0);
  default_head_size(keys, config, "num_attention_heads");
  return config;
}

TransformerConfig read_llama(Keys& keys) {
  TransformerConfig config = read_common(keys);
  config.gated = true;
  config.norm = Normalisation::rms;
  config.function = activation(keys, "hidden_act", true, "silu");
  config.bias = false;
  config.qkv_bias = keys.flag("attention_bias", false);
  default_head_size(keys, config, "num_attention_heads");
  return config;
}

TransformerConfig read_qwen2(Keys& keys) {
  TransformerConfig config = read_llama(keys);
  config.qkv_bias = true;  // of Qwen2Attention, whatever the file says
  return config;
}

TransformerConfig read_mixtral(Keys& keys) {
  TransformerConfig config = read_llama(keys);
  ExpertsConfig experts;
  experts.experts = keys.size("num_local_experts", kMostExperts, 8);
  experts.top_k = keys.size("num_experts_per_tok", experts.experts, 2);
  experts.ffn = config.ffn;
  experts.shared_ffn = config.ffn;
  config.experts = experts;
  return config;
}

TransformerConfig read_deepseek(Keys& keys) {
  TransformerConfig config = read_llama(keys);
  config.qkv_bias = false;
  config.kv_heads = config.heads;
  LatentAttention latent;
  latent.query_rank = keys.size("q_lora_rank", kWidest, 0);
  latent.kv_rank = keys.size("kv_lora_rank", kWidest);
  latent.key_size = keys.size("qk_nope_head_dim", kWidest);
  latent.rotary_size = keys.size("qk_rope_head_dim", kWidest);
  latent.value_size = keys.size("v_head_dim", kWidest);
  config.head_size = latent.key_size + latent.rotary_size;
  config.latent = latent;
  ExpertsConfig experts;
  experts.experts = keys.size("n_routed_experts", kMostExperts);
  experts.top_k = keys.size("num_experts_per_tok", experts.experts);
  experts.ffn = keys.size("moe_intermediate_size", kWidest);
  experts.shared = keys.size("n_shared_experts", kMostExperts, 0);
  experts.shared_ffn = experts.ffn;
  const auto dense = keys.find("first_k_dense_replace");
  experts.dense_layers = dense ? dense->integer(0, config.layers) : 0;
  experts.every = keys.size("moe_layer_freq", kMostLayers, 1);
  config.experts = experts;
  return config;
}

struct Family {
  std::string_view type;
  std::string_view architecture;
  TransformerConfig (*read)(Keys&);
};

constexpr std::array kFamilies{
    Family{"gpt2", "GPT2LMHeadModel", read_gpt2},
    Family{"gpt_neox", "GPTNeoXForCausalLM", read_gpt_neox},
    Family{"llama", "LlamaForCausalLM", read_llama},
    Family{"mistral", "MistralForCausalLM", read_llama},
    Family{"qwen2", "Qwen2ForCausalLM", read_qwen2},
    Family{"mixtral", "MixtralForCausalLM", read_mixtral},
    Family{"deepseek_v2", "DeepseekV2ForCausalLM", read_deepseek},
    Family{"deepseek_v3", "DeepseekV3ForCausalLM", read_deepseek},
};

/// By model_type, else by the first of the architectures; noted where neither is known.
const Family* family_of(ObjectReader& in) {
  const bool by_type = in.optional("model_type").has_value();
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) {
    names.push_back(by_type ? family.type : family.architecture);
  }
  std::optional<std::string> name;
  if (by_type) {
    name = in.required("model_type").known_name("model type", names);
  } else {
    in.array(
        "architectures",
        [&](const ValueReader& one) {
          if (!name) name = one.known_name("architecture", names);
        },
        1);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return &kFamilies.at(i);
  }
  return nullptr;
}

}  // namespace

bool is_hugging_face(const ValueReader& value) {
  const auto* object = value.value() == nullptr ? nullptr : value.value()->get_if<JsonObject>();
  return object != nullptr && (find_member(*object, "model_type") != nullptr ||
                               find_member(*object, "architectures") != nullptr);
}

ModelConfig read_hugging_face(ObjectReader& in) {
  (void)in.all();
  ModelConfig model;
  const Family* family = family_of(in);
  if (family == nullptr) return model;
  Keys keys{in};
  const auto path = keys.find("_name_or_path");
  const auto* given = path ? path->value()->get_if<std::string>() : nullptr;
  model.name = given != nullptr && !given->empty() ? *given : std::string{family->type};
  model.source = "a Hugging Face config.json";
  TransformerConfig config = family->read(keys);
  check_transformer(in, config, family->type == "gpt2" ? "n_head" : "num_key_value_heads");
  model.shape = config;
  return model;
}

}  // namespace lockstep
