#pragma once

#include "sim/config/reader.hpp"
#include "strategies/models/model_config.hpp"

/// The parts of model_file.hpp, one per form.
namespace lockstep {

/// Bounds that keep every product of sizes within 64 bits.
inline constexpr std::int64_t kMostLayers = 100'000;
inline constexpr std::int64_t kWidest = 1 << 20;
inline constexpr std::int64_t kMostHeads = 1 << 12;
inline constexpr std::int64_t kLongestSequence = 1 << 24;
inline constexpr std::int64_t kMostWords = 1 << 24;
inline constexpr std::int64_t kMostExperts = 1 << 14;
inline constexpr double kMostParameters = 1e16;

/// The keys of each kind in Lockstep's own form, name and source aside.
[[nodiscard]] TransformerConfig read_transformer(ObjectReader& in);
[[nodiscard]] MlpConfig read_mlp(ObjectReader& in);
[[nodiscard]] ResNetConfig read_resnet(ObjectReader& in);

/// Whether a model might have more than kMostParameters, so that 64 bits could overflow.
[[nodiscard]] bool is_too_large(const TransformerConfig& config);

/// Notes what cannot be together, such as heads that those of keys and values do not divide, which
/// the form gives under the key `kv_heads`.
void check_transformer(ObjectReader& in, const TransformerConfig& config,
                       std::string_view kv_heads = "kv_heads");

/// Whether an object is a config.json of Hugging Face's transformers.
[[nodiscard]] bool is_hugging_face(const ValueReader& value);
/// Reads such a one; keys that do not matter for a training step are ignored.
[[nodiscard]] ModelConfig read_hugging_face(ObjectReader& in);

}  // namespace lockstep
