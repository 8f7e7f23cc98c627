#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/reader.hpp"
#include "strategies/models/model_config.hpp"

/// Models from JSON (configs/models, schema configs/schema/model.schema.json): Lockstep's own
/// format, or a config.json of Hugging Face's transformers, recognized by its key model_type or
/// architectures.
/// Keys of a transformer in Lockstep's format, with defaults: name, layers, hidden, heads, kv_heads
/// (heads), ffn (4 hidden), gated_mlp (no), seq, vocab (1: layers only), tied_embeddings (no),
/// attention (flash; or unfused), head_size (hidden / heads), causal (yes), dropout (0), norm,
/// activation, bias, positions, experts {...}, latent {...}. norm, activation, bias and positions
/// default to GPT's (layer, gelu, yes, learned), with gated_mlp to Llama's (rms, swiglu, no,
/// rotary). Keys specific to model families are absent by default; see the schema. Other kinds:
/// "kind": "t5", "kind": "vit", "kind": "mlp" and "kind": "resnet".
namespace lockstep {

/// Reads a model inside a scenario, in either format. Problems are reported at their position.
[[nodiscard]] ModelConfig read_model(const ValueReader& value);

/// Reads a file, which in Lockstep's format must have a `source`. Throws ConfigError with every
/// problem. Accepts NaN and Infinity, which Python's json module writes, in ignored keys.
[[nodiscard]] ModelConfig load_model(const std::filesystem::path& path);

/// The same from a document in memory.
[[nodiscard]] ModelConfig read_model(const JsonDocument& document);

/// configs/schema/model.schema.json.
[[nodiscard]] JsonValue model_schema();

/// Ids of the models in a folder (names of its .json files), sorted. Throws ConfigError if the
/// folder cannot be read.
[[nodiscard]] std::vector<std::string> model_ids(const std::filesystem::path& folder);

}  // namespace lockstep
