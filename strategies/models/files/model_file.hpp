#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/reader.hpp"
#include "strategies/models/model_config.hpp"

/// Models from JSON (configs/models, schema configs/schema/model.schema.json): Lockstep's own form,
/// or a config.json as Hugging Face's transformers writes it, which is recognized by its keys
/// model_type or architectures.
///
/// Lockstep's own form of a transformer: name, layers, hidden, heads, kv_heads (as many as heads),
/// ffn (4 hidden), gated_mlp (no), seq, vocab (one word: for the layers' own times alone),
/// tied_embeddings (no), attention (flash or unfused; flash), head_size (hidden / heads), causal
/// (yes), dropout (0), norm, activation, bias, positions, experts {...}, latent {...}. Where norm,
/// activation, bias and positions are left out they are those of GPT (layer, gelu, yes, learned),
/// or, with gated_mlp, those of Llama (rms, swiglu, no, rotary). What families of models differ in
/// has keys of its own, all absent by default: see the schema. Other kinds: "kind": "mlp" and
/// "kind": "resnet".
namespace lockstep {

/// A model inside a scenario, in either form. What is wrong is noted at its place.
[[nodiscard]] ModelConfig read_model(const ValueReader& value);

/// Reads a file, which in Lockstep's own form must have a `source`. Throws ConfigError with
/// everything that is wrong with it.
/// NaN and Infinity, as Python's json module writes them, are read where they do not matter.
[[nodiscard]] ModelConfig load_model(const std::filesystem::path& path);

/// The same from a document in memory.
[[nodiscard]] ModelConfig read_model(const JsonDocument& document);

/// The ids of the models in a folder (names of its .json files), sorted.
/// Throws ConfigError where it cannot be read.
[[nodiscard]] std::vector<std::string> model_ids(const std::filesystem::path& folder);

}  // namespace lockstep
