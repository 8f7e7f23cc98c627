#include <fmt/format.h>

#include <algorithm>

#include "strategies/models/hugging_face/families.hpp"
#include "strategies/models/hugging_face/parts.hpp"

namespace lockstep::hugging_face {

namespace {

struct ImageKeys {
  std::string_view side;
  std::string_view patch;
  std::string_view channels;
  ImageInput defaults;
};

/// The patches of an image, which are the sequence.
void read_image(Keys& keys, TransformerConfig& config, const ImageKeys& names) {
  constexpr std::int64_t kMostPlaces = 8192;  // along a side
  config.causal = false;
  ImageInput image = names.defaults;
  image.side = keys.size(names.side, kMostPlaces, image.side);
  image.patch = keys.size(names.patch, kMostPlaces, image.patch);
  image.channels = keys.size(names.channels, 1024, image.channels);
  if (image.side % image.patch != 0)
    keys.refuse(names.patch, fmt::format("an image of {} pixels is not divisible by patches of {}",
                                         image.side, image.patch));
  config.image = image;
  config.sequence = std::max<std::int64_t>(1, image.tokens());
}

/// For each latent value the noise, or noise and variance.
void read_predictions(Keys& keys, TransformerConfig& config) {
  const std::int64_t in = config.image->channels;
  const std::int64_t out = keys.size("out_channels", 2048, in);
  config.diffusion = DiffusionTransformer{};
  config.diffusion->learned_variance = out == 2 * in;
  if (out != in && out != 2 * in)
    keys.refuse("out_channels",
                fmt::format("of {} latent values either noise, {}, or noise and variance are "
                            "predicted, {}",
                            in, in, 2 * in));
}

}  // namespace

/// ViTConfig: one label per image, of as many classes as id2label or num_labels names.
void read_vit(Keys& keys, TransformerConfig& config) {
  constexpr std::int64_t kImageNet = 1000;
  config.head_bias = true;
  config.hidden = keys.size("hidden_size", kWidest, 768);
  config.layers = keys.size("num_hidden_layers", kMostLayers, 12);
  config.heads = config.kv_heads = keys.size("num_attention_heads", kMostHeads, 12);
  config.ffn = keys.size("intermediate_size", 4 * kWidest, 3072);
  if (config.hidden % config.heads != 0)
    keys.refuse("num_attention_heads",
                fmt::format("a hidden size of {} is not divisible by {} heads", config.hidden,
                            config.heads));
  config.head_size = std::max<std::int64_t>(1, config.hidden / config.heads);
  read_image(
      keys, config,
      {"image_size", "patch_size", "num_channels", {.side = 224, .patch = 16, .channels = 3}});
  const auto labels = keys.find("id2label");
  const auto* names = labels ? labels->value()->get_if<JsonObject>() : nullptr;
  config.vocabulary = names != nullptr && !names->empty()
                          ? static_cast<std::int64_t>(names->size())
                          : keys.size("num_labels", kMostWords, kImageNet);
  (void)keys.find("label2id");
  read_activation(keys, config, "hidden_act", "gelu");
  keys.require("qkv_bias", true, "projections without biases are not read");
  config.dropout = keys.probability("hidden_dropout_prob", 0);
  config.attention_dropout = keys.probability("attention_probs_dropout_prob", 0);
}

/// DiTTransformer2DModel of diffusers, and Transformer2DModel with the norms of one: every layer
/// has its own embeddings of timestep and class, which scripts/convert_dit_to_diffusers.py fills
/// with those that all layers share.
void read_dit(Keys& keys, TransformerConfig& config) {
  config.norm_gain = false;
  config.positions = Positions::none;
  config.layers = keys.size("num_layers", kMostLayers, 28);
  config.heads = config.kv_heads = keys.size("num_attention_heads", kMostHeads, 16);
  config.head_size = keys.size("attention_head_dim", kWidest, 72);
  config.hidden = config.heads * config.head_size;
  if (config.hidden > kWidest)
    keys.refuse("attention_head_dim",
                fmt::format("a hidden size of {}; it may be {}", config.hidden, kWidest));
  config.ffn = 4 * config.hidden;
  config.vocabulary = keys.size("num_embeds_ada_norm", kMostWords, 1000);
  read_image(keys, config,
             {"sample_size",
              "patch_size",
              "in_channels",
              {.side = 32, .patch = 2, .channels = 4, .class_token = false}});
  read_predictions(keys, config);
  const auto norm = keys.find("norm_type");
  if (norm && norm->string() != "ada_norm_zero")
    keys.refuse("norm_type",
                "layers that are not scaled by timestep and class (ada_norm_zero) are "
                "not read");
  if (keys.find("cross_attention_dim"))
    keys.refuse("cross_attention_dim", "layers that attend to a text as well are not read");
  read_activation(keys, config, "activation_fn", "gelu");
  if (config.function != ActivationFunction::gelu)
    keys.refuse("activation_fn", "other MLPs than those of gelu are not read");
  keys.require("attention_bias", true, "projections without biases are not read");
  keys.require("norm_elementwise_affine", false, "norms with gains are not read");
  if (keys.probability("dropout", 0) > 0) keys.refuse("dropout", "dropout is not read");
  // Of layers with texts or with convolutions, and of kernels.
  for (const std::string_view other :
       {"norm_num_groups", "only_cross_attention", "use_linear_projection", "upcast_attention"})
    (void)keys.find(other);
  keys.say(
      "embeddings of timesteps and classes are counted once: diffusers keeps copies of them in "
      "every layer");
}

}  // namespace lockstep::hugging_face
