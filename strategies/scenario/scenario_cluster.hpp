#pragma once

#include <optional>

#include "strategies/scenario/scenario.hpp"
#include "strategies/scenario/scenario_files.hpp"

/// The `cluster` part of a scenario.
namespace lockstep {

/// A cluster and the `cluster` part that reproduces it, with every default.
struct ReadCluster {
  ScenarioCluster cluster;
  JsonValue resolved;
};

/// Forms: the id or path of a cluster file; {"file": id or path, "nodes": n, "ranks": n, "gpu":
/// device id}, where "gpu" replaces the file's device; or a node summary (scenario_node.hpp). The
/// second form may override parts of the file: "topology", "node", "graph" and "fabric" are merged
/// into the file's objects, e.g. {"fabric": {"link": {"bandwidth": "200 Gb/s"}}}. `servers`: number
/// of parameter servers; clusters of single GPUs get extra hosts for them, nodes need as many CPU
/// sockets. Empty if a problem was reported.
/// Describes the forms that `at` may have.
void describe_scenario_cluster(const ValueReader& at);

[[nodiscard]] std::optional<ReadCluster> read_scenario_cluster(const ValueReader& at, int servers,
                                                               const ScenarioFolders& folders);

}  // namespace lockstep
