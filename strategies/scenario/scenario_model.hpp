#pragma once

#include <optional>

#include "sim/config/json/json.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/scenario/scenario_files.hpp"

/// The `model` part of a scenario.
namespace lockstep {

/// Forms: an inline model; the id or path of a model file; {"file": id or path, key: value, ...}
/// with overrides. Empty if a problem was reported.
[[nodiscard]] std::optional<ModelConfig> read_scenario_model(const ValueReader& at,
                                                             const ScenarioFolders& folders);

/// The model in Lockstep's own format (strategies/models/files/model_file.hpp), every key written.
[[nodiscard]] JsonValue json_of(const ModelConfig& model);

/// Describes the forms that a scenario's model may have.
void describe_scenario_model(const ValueReader& at);

}  // namespace lockstep
