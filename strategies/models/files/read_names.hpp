#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/reader.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep {

/// The enumerator named by `key`; `fallback` if the key is absent.
template <class Enum>
[[nodiscard]] Enum named(ObjectReader& in, const Key& key, std::string_view noun,
                         const std::vector<std::pair<std::string_view, Enum>>& values,
                         Enum fallback) {
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

/// `help`: with the default.
[[nodiscard]] inline ActivationFunction read_activation(ObjectReader& in, std::string_view help,
                                                        ActivationFunction fallback) {
  return named<ActivationFunction>(in, {"activation", help}, "activation",
                                   {{"relu", ActivationFunction::relu},
                                    {"gelu", ActivationFunction::gelu},
                                    {"silu", ActivationFunction::silu},
                                    {"squared_relu", ActivationFunction::squared_relu},
                                    {"swiglu", ActivationFunction::swiglu},
                                    {"geglu", ActivationFunction::geglu}},
                                   fallback);
}

[[nodiscard]] inline AttentionKind read_attention_kind(ObjectReader& in) {
  return named<AttentionKind>(
      in,
      {"attention",
       "Attention kernel: flash (fused, scores are not stored) or unfused (default: flash)"},
      "attention", {{"flash", AttentionKind::flash}, {"unfused", AttentionKind::unfused}},
      AttentionKind::flash);
}

inline void read_dropout(ObjectReader& in, TransformerConfig& config) {
  config.dropout = in.number({"dropout", "Dropout probability (default: 0)"}, 0, 0.999, 0);
  config.attention_dropout = in.optional_number(
      {"attention_dropout", "Dropout of attention probabilities (default: dropout)"}, 0, 0.999);
}

}  // namespace lockstep
