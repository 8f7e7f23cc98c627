#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "strategies/models/hugging_face/families.hpp"
#include "strategies/models/hugging_face/parts.hpp"

namespace lockstep::hugging_face {

namespace {

struct FeedForward {
  std::string_view name;
  bool gated;
  ActivationFunction function;
};
constexpr std::array kFeedForwards{FeedForward{"relu", false, ActivationFunction::relu},
                                   FeedForward{"gelu", false, ActivationFunction::gelu},
                                   FeedForward{"gated-gelu", true, ActivationFunction::geglu},
                                   FeedForward{"gated-silu", true, ActivationFunction::swiglu}};

void read_feed_forward(Keys& keys, TransformerConfig& config) {
  constexpr std::string_view kKey = "feed_forward_proj";
  const auto found = keys.find(kKey);
  const std::string name = found ? found->string() : "relu";
  for (const FeedForward& each : kFeedForwards) {
    if (each.name != name) continue;
    config.gated = each.gated;
    config.function = each.function;
    return;
  }
  keys.refuse(kKey, fmt::format("expected relu, gelu, gated-gelu or gated-silu, got \"{}\"", name));
}

}  // namespace

/// T5Config: n_positions is of both sequences, where encoder_seq and seq do not say otherwise.
void read_t5(Keys& keys, TransformerConfig& config) {
  config = plain_t5();
  config.hidden = keys.size("d_model", kWidest, 512);
  config.head_size = keys.size("d_kv", kWidest, 64);
  config.heads = config.kv_heads = keys.size("num_heads", kMostHeads, 8);
  config.ffn = keys.size("d_ff", 4 * kWidest, 2048);
  config.vocabulary = keys.size("vocab_size", kMostWords, 32128);
  EncoderStack encoder;
  encoder.layers = keys.size("num_layers", kMostLayers, 6);
  config.layers = keys.size("num_decoder_layers", kMostLayers, encoder.layers);
  const std::int64_t positions =
      keys.find("n_positions") ? keys.size("n_positions", kLongestSequence) : 0;
  encoder.sequence = keys.size("encoder_seq", kLongestSequence, positions);
  config.sequence = keys.size("seq", kLongestSequence, positions);
  encoder.buckets = keys.size("relative_attention_num_buckets", 4096, 32);
  if (encoder.buckets % 4 != 0)
    keys.refuse("relative_attention_num_buckets", "expected a multiple of 4");
  config.encoder = encoder;
  read_feed_forward(keys, config);
  for (const std::string_view same : {"dense_act_fn", "is_gated_act"}) (void)keys.find(same);
  config.dropout = keys.probability("dropout_rate", 0.1);
  keys.read_tied(config, true);
}

/// ViTConfig: one label per image, of as many classes as id2label or num_labels names.
void read_vit(Keys& keys, TransformerConfig& config) {
  constexpr std::int64_t kImageNet = 1000;
  config.causal = false;
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
  ImageInput image;
  image.side = keys.size("image_size", 8192, 224);
  image.patch = keys.size("patch_size", 8192, 16);
  image.channels = keys.size("num_channels", 1024, 3);
  if (image.side % image.patch != 0)
    keys.refuse("patch_size", fmt::format("an image of {} pixels is not divisible by patches of {}",
                                          image.side, image.patch));
  config.image = image;
  config.sequence = std::max<std::int64_t>(1, image.tokens());
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

}  // namespace lockstep::hugging_face
