#include <fmt/format.h>

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

}  // namespace lockstep::hugging_face
