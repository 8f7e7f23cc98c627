#pragma once

#include "sim/config/reader.hpp"
#include "strategies/models/model_config.hpp"

/// Internal to model_file.hpp: one reader per format.
namespace lockstep {

/// Bounds that keep every product of sizes within 64 bits.
inline constexpr std::int64_t kMostLayers = 100'000;
inline constexpr std::int64_t kWidest = 1 << 20;
inline constexpr std::int64_t kMostHeads = 1 << 12;
inline constexpr std::int64_t kLongestSequence = 1 << 24;
inline constexpr std::size_t kMostDocuments = 65536;
inline constexpr std::int64_t kMostWords = 1 << 24;
inline constexpr std::int64_t kMostExperts = 1 << 14;
inline constexpr double kMostParameters = 1e16;

/// The keys of each kind in Lockstep's format, except name and source.
[[nodiscard]] TransformerConfig read_transformer(ObjectReader& in);
[[nodiscard]] TransformerConfig read_vit(ObjectReader& in);
[[nodiscard]] TransformerConfig read_dit(ObjectReader& in);
[[nodiscard]] TransformerConfig read_t5(ObjectReader& in);
[[nodiscard]] MlpConfig read_mlp(ObjectReader& in);
[[nodiscard]] ResNetConfig read_resnet(ObjectReader& in);

/// T5 without sizes: RMS norms, no biases; scores are stored, since a table is added to them.
[[nodiscard]] TransformerConfig plain_t5();

/// Whether a model may exceed kMostParameters, so that 64 bits could overflow.
[[nodiscard]] bool is_too_large(const TransformerConfig& config);

/// Reports invalid combinations, such as heads not divisible by KV heads, which the format names
/// `kv_heads`.
void check_transformer(ObjectReader& in, const TransformerConfig& config,
                       std::string_view kv_heads = "kv_heads");

/// Whether an object is a Hugging Face config.json.
[[nodiscard]] bool is_hugging_face(const ValueReader& value);
/// Reads a Hugging Face config.json; keys irrelevant to a training step are ignored.
[[nodiscard]] ModelConfig read_hugging_face(ObjectReader& in);

}  // namespace lockstep
