#include <fmt/format.h>

#include <algorithm>

#include "strategies/models/model_readers.hpp"

namespace lockstep {

namespace {

/// The enumerator at the place of the name that `key` has; `fallback` where the key is absent.
template <class Enum>
Enum named(ObjectReader& in, std::string_view key, std::string_view noun,
           const std::vector<std::pair<std::string_view, Enum>>& values, Enum fallback) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : values) names.push_back(name);
  const auto given = in.optional(key);
  if (!given) return fallback;
  const auto name = given->known_name(noun, names);
  for (const auto& [known, value] : values) {
    if (name == known) return value;
  }
  return fallback;
}

ActivationFunction read_activation(ObjectReader& in, ActivationFunction fallback) {
  return named<ActivationFunction>(in, "activation", "activation",
                                   {{"relu", ActivationFunction::relu},
                                    {"gelu", ActivationFunction::gelu},
                                    {"silu", ActivationFunction::silu},
                                    {"swiglu", ActivationFunction::swiglu}},
                                   fallback);
}

/// Of a layer: what GPT has, or Llama where MLPs are gated.
void read_style(ObjectReader& in, TransformerConfig& config) {
  const bool gated = config.gated;
  config.norm = named<Normalisation>(in, "norm", "norm",
                                     {{"layer", Normalisation::layer}, {"rms", Normalisation::rms}},
                                     gated ? Normalisation::rms : Normalisation::layer);
  config.function =
      read_activation(in, gated ? ActivationFunction::swiglu : ActivationFunction::gelu);
  config.positions = named<Positions>(
      in, "positions", "kind of positions",
      {{"learned", Positions::learned}, {"rotary", Positions::rotary}, {"none", Positions::none}},
      gated ? Positions::rotary : Positions::learned);
  config.attention = named<AttentionKind>(
      in, "attention", "attention",
      {{"flash", AttentionKind::flash}, {"unfused", AttentionKind::unfused}}, AttentionKind::flash);
  config.bias = in.boolean("bias", !gated);
  config.qkv_bias = in.boolean("qkv_bias", false);
  config.dropout = in.number("dropout", 0, 0.999, 0);
  config.causal = in.boolean("causal", true);
  if (gated != (config.function == ActivationFunction::swiglu)) {
    in.note("activation", gated ? "a gated MLP has the activation \"swiglu\""
                                : "\"swiglu\" is the activation of a gated MLP alone");
  }
}

ExpertsConfig read_experts(ObjectReader& in, const TransformerConfig& config) {
  ExpertsConfig experts;
  experts.experts = in.integer("count", 2, kMostExperts);
  experts.top_k = in.integer("top_k", 1, kMostExperts);
  experts.ffn = in.integer("ffn", 1, 4 * kWidest, config.ffn);
  experts.shared = in.integer("shared", 0, kMostExperts, 0);
  experts.shared_ffn = in.integer("shared_ffn", 1, 4 * kWidest, experts.ffn);
  experts.dense_layers = in.integer("dense_layers", 0, kMostLayers, 0);
  experts.every = in.integer("every", 1, kMostLayers, 1);
  if (experts.top_k > experts.experts) {
    in.note("top_k", fmt::format("at most the {} experts that there are", experts.experts));
  }
  return experts;
}

LatentAttention read_latent(ObjectReader& in) {
  LatentAttention latent;
  latent.query_rank = in.integer("query_rank", 0, kWidest, 0);
  latent.kv_rank = in.integer("kv_rank", 1, kWidest);
  latent.key_size = in.integer("key_size", 1, kWidest);
  latent.rotary_size = in.integer("rotary_size", 1, kWidest);
  latent.value_size = in.integer("value_size", 1, kWidest);
  return latent;
}

/// An upper bound of the number of parameters, in floating point, where 64 bits might not do.
[[nodiscard]] double most_parameters(const TransformerConfig& config) {
  const auto hidden = static_cast<double>(config.hidden);
  const auto heads = static_cast<double>(config.heads);
  double rows =
      4 * heads * static_cast<double>(config.head_size) + 3 * static_cast<double>(config.ffn);
  if (config.latent) {
    const LatentAttention& latent = *config.latent;
    const auto ranks = static_cast<double>(latent.query_rank + latent.kv_rank);
    const auto sizes =
        static_cast<double>(latent.key_size + latent.rotary_size + latent.value_size);
    rows += ranks + (ranks / hidden + 2) * heads * sizes;
  }
  if (config.experts) {
    const ExpertsConfig& experts = *config.experts;
    rows += static_cast<double>(experts.experts) * (3 * static_cast<double>(experts.ffn) + 1) +
            3 * static_cast<double>(experts.shared) * static_cast<double>(experts.shared_ffn);
  }
  return static_cast<double>(config.layers) * hidden * rows;
}

}  // namespace

void check_transformer(ObjectReader& in, const TransformerConfig& config,
                       std::string_view kv_heads) {
  if (config.heads % config.kv_heads != 0) {
    in.note(kv_heads, fmt::format("{} heads are not divisible by {} heads of keys and values",
                                  config.heads, config.kv_heads));
  }
  if (config.latent && config.kv_heads != config.heads) {
    in.note(kv_heads, "latent attention has as many heads of keys and values as of queries");
  }
  if (most_parameters(config) > kMostParameters) {
    in.note(fmt::format("a model of more than {:g} parameters", kMostParameters));
  }
}

TransformerConfig read_transformer(ObjectReader& in) {
  TransformerConfig config;
  config.layers = in.integer("layers", 1, kMostLayers);
  config.hidden = in.integer("hidden", 1, kWidest);
  config.heads = in.integer("heads", 1, kMostHeads);
  config.kv_heads = in.integer("kv_heads", 1, kMostHeads, config.heads);
  config.ffn = in.integer("ffn", 1, 4 * kWidest, 4 * config.hidden);
  config.gated = in.boolean("gated_mlp", false);
  config.sequence = in.integer("seq", 1, kLongestSequence);
  config.vocabulary = in.integer("vocab", 1, kMostWords, 1);
  config.tied_embeddings = in.boolean("tied_embeddings", false);
  read_style(in, config);
  config.latent = in.optional_object("latent", read_latent);
  const auto size = in.optional_integer("head_size", 1, kWidest);
  if (!size && !config.latent && config.hidden % config.heads != 0) {
    in.note("heads", fmt::format("a hidden size of {} is not divisible by {} heads; give head_size",
                                 config.hidden, config.heads));
  }
  config.head_size = size.value_or(std::max<std::int64_t>(1, config.hidden / config.heads));
  if (config.latent) config.head_size = config.latent->key_size + config.latent->rotary_size;
  config.experts = in.optional_object(
      "experts", [&config](ObjectReader& experts) { return read_experts(experts, config); });
  check_transformer(in, config);
  return config;
}

MlpConfig read_mlp(ObjectReader& in) {
  MlpConfig config;
  config.hidden = in.integer("hidden", 1, kWidest);
  config.ffn = in.integer("ffn", 1, 4 * kWidest, 4 * config.hidden);
  config.layers = in.integer("layers", 1, kMostLayers, 1);
  config.function = read_activation(in, ActivationFunction::gelu);
  if (config.function == ActivationFunction::swiglu) {
    in.note("activation", "\"swiglu\" is the activation of a gated MLP alone");
  }
  config.bias = in.boolean("bias", false);
  return config;
}

ResNetConfig read_resnet(ObjectReader& in) {
  ResNetConfig config;
  if (in.optional("stages")) {
    config.stages.clear();
    in.array(
        "stages",
        [&config](const ValueReader& blocks) { config.stages.push_back(blocks.integer(1, 1000)); },
        1, 6);
  }
  config.width = in.integer("width", 1, 4096, 64);
  config.image = in.integer("image", 1, 8192, 224);
  config.classes = in.integer("classes", 1, kMostWords, 1000);
  config.frames = in.integer("frames", 1, 4096, 1);
  config.temporal_shift = in.boolean("temporal_shift", false);
  if (config.temporal_shift && config.frames == 1) {
    in.note("frames", "a temporal shift needs clips of two frames at least");
  }
  return config;
}

}  // namespace lockstep
