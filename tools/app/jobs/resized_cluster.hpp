#pragma once

#include "sim/config/json/json.hpp"
#include "strategies/scenario/scenario.hpp"

namespace lockstep::app {

/// The resolved `cluster` of a scenario.
[[nodiscard]] JsonObject cluster_members(const Scenario& scenario);

/// The same with so many GPUs; in whole nodes if a node has several and there is more than one.
[[nodiscard]] JsonValue cluster_of_size(const Scenario& scenario, int gpus);

/// Its cluster with so many GPUs, rounded up to whole nodes. Errors: ConfigError if it cannot have
/// that size.
[[nodiscard]] ScenarioCluster resized_cluster(const Scenario& scenario, int gpus);

}  // namespace lockstep::app
