#include "strategies/models/hugging_face/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/models/count/count.hpp"

namespace lockstep::hugging_face {

namespace {

/// 131072 as 131,072.
[[nodiscard]] std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

void read_sequence(Keys& keys, TransformerConfig& config, std::string_view positions) {
  const auto given = keys.find_around("seq");
  const bool known = !positions.empty() && keys.find(positions).has_value();
  if (given) {
    config.sequence = given->integer(1, kLongestSequence);
  } else if (known) {
    config.sequence = keys.size(positions, kLongestSequence);
    keys.say(fmt::format("sequence length {} from {}; \"seq\" sets another",
                         grouped(config.sequence), positions));
  } else {
    keys.in().note(
        fmt::format("no sequence length: there is no {}; give \"seq\" in the file, or --set "
                    "model.seq=4096 in a run",
                    positions.empty() ? "key for it in this family" : in_quotes(positions)));
  }
}

void read_head_size(Keys& keys, TransformerConfig& config, const SizeKeys& names,
                    std::int64_t fallback) {
  const auto given = names.head_size.empty() ? std::nullopt : keys.find(names.head_size);
  const std::int64_t shared = std::max<std::int64_t>(1, config.hidden / config.heads);
  config.head_size = given ? given->integer(1, kWidest) : fallback > 0 ? fallback : shared;
  if (!given && fallback == 0 && config.hidden % config.heads != 0) {
    keys.refuse(names.heads, fmt::format("a hidden size of {} is not divisible by {} heads",
                                         config.hidden, config.heads));
  }
}

}  // namespace

void read_sizes(Keys& keys, TransformerConfig& config, const SizeKeys& names,
                const SizeDefaults& defaults) {
  config.hidden = keys.size(names.hidden, kWidest, defaults.hidden);
  config.layers = keys.size(names.layers, kMostLayers, defaults.layers);
  config.heads = keys.size(names.heads, kMostHeads, defaults.heads);
  const std::int64_t kv_heads = defaults.kv_heads > 0 ? defaults.kv_heads : config.heads;
  config.kv_heads =
      names.kv_heads.empty() ? config.heads : keys.size(names.kv_heads, kMostHeads, kv_heads);
  config.ffn =
      names.ffn.empty() ? 4 * config.hidden : keys.size(names.ffn, 4 * kWidest, defaults.ffn);
  config.vocabulary = keys.size(names.vocabulary, kMostWords, defaults.vocabulary);
  read_head_size(keys, config, names, defaults.head_size);
  read_sequence(keys, config, names.positions);
}

void read_llama_like(Keys& keys, TransformerConfig& config, const SizeDefaults& defaults) {
  read_sizes(keys, config, {}, defaults);
  config.gated = true;
  config.norm = Normalization::rms;
  config.bias = false;
  config.positions = Positions::rotary;
  read_activation(keys, config, "hidden_act", "silu");
  read_dropout(keys, config, "", "", "attention_dropout", 0);
  keys.read_tied(config, false);
}

void set_gpt_like(TransformerConfig& config, Positions positions) {
  config.gated = false;
  config.norm = Normalization::layer;
  config.bias = true;
  config.positions = positions;
}

void read_activation(Keys& keys, TransformerConfig& config, std::string_view key,
                     std::string_view fallback) {
  const auto found = keys.find(key);
  std::vector<std::string_view> names{"gelu",      "gelu_new", "gelu_fast", "gelu_pytorch_tanh",
                                      "gelu_tanh", "silu",     "swish",     "gelu-approximate"};
  if (!config.gated) names.insert(names.end(), {"relu", "relu2"});
  const std::string name = found ? found->one_of("activation", names) : std::string{fallback};
  const bool silu = name == "silu" || name == "swish";
  if (config.gated) {
    config.function = silu ? ActivationFunction::swiglu : ActivationFunction::geglu;
  } else if (name == "relu" || name == "relu2") {
    config.function = name == "relu" ? ActivationFunction::relu : ActivationFunction::squared_relu;
  } else {
    config.function = silu ? ActivationFunction::silu : ActivationFunction::gelu;
  }
}

void read_attention_bias(Keys& keys, TransformerConfig& config, bool fallback,
                         std::string_view key) {
  config.qkv_bias = keys.flag(key, fallback);
  config.out_bias = config.qkv_bias;
}

void read_dropout(Keys& keys, TransformerConfig& config, std::string_view residual,
                  std::string_view embedding, std::string_view attention, double fallback) {
  const auto read = [&](std::string_view key, double otherwise) {
    return key.empty() ? otherwise : keys.probability(key, otherwise);
  };
  config.attention_dropout.reset();
  config.dropout = residual.empty() ? 0 : read(residual, fallback);
  const double of_attention = read(attention, residual.empty() ? 0 : fallback);
  if (of_attention != config.dropout) config.attention_dropout = of_attention;
  const double of_embedding = read(embedding, config.dropout);
  if (of_embedding == config.dropout) return;
  keys.say(fmt::format("{} {} is taken as {} {}, as the rest of the stream has it", embedding,
                       of_embedding, residual, config.dropout));
}

void read_experts(Keys& keys, TransformerConfig& config, const ExpertKeys& names) {
  ExpertsConfig experts;
  experts.experts = keys.size(names.count, kMostExperts, names.default_count);
  experts.top_k = keys.size(names.top_k, experts.experts, names.default_top_k);
  experts.ffn = keys.size(names.ffn, 4 * kWidest);
  if (!names.shared.empty()) experts.shared = keys.count(names.shared, kMostExperts, 0);
  experts.shared_ffn = experts.ffn;
  config.experts = experts;
}

void report_prediction_layers(Keys& keys, const TransformerConfig& config, std::string_view key) {
  constexpr std::int64_t kMostModules = 100;
  const std::int64_t modules = keys.count(key, kMostModules, 0);
  if (modules == 0 || is_too_large(config)) return;
  TransformerConfig longer = config;
  longer.mtp = TokenPrediction{.layers = modules, .loss_scaling_factor = 0.1};
  const auto count = [](const TransformerConfig& shape) {
    return count_parameters({.name = {}, .shape = shape, .source = {}, .notes = {}}).total();
  };
  keys.say(fmt::format(
      "{} {}: the layers for multi-token prediction, {} parameters, are not part of the program; "
      "\"mtp\" adds them, as in --set model.mtp.layers={}",
      key, modules, grouped(count(longer) - count(config)), modules));
}

}  // namespace lockstep::hugging_face
