#pragma once

#include <optional>

#include "sim/config/json.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/scenario/scenario_files.hpp"

/// The `model` part of a scenario.
namespace lockstep {

/// A model written out, the id or path of a file, or {"file": id or path, key: value, ...}, where
/// the keys override the file's. Empty where something is wrong, which is noted.
[[nodiscard]] std::optional<ModelConfig> read_scenario_model(const ValueReader& at,
                                                             const ScenarioFolders& folders);

/// The model in Lockstep's own form (strategies/models/files/model_file.hpp), every key of it.
[[nodiscard]] JsonValue json_of(const ModelConfig& model);

}  // namespace lockstep
