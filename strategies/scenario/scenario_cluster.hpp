#pragma once

#include <optional>

#include "strategies/scenario/scenario.hpp"
#include "strategies/scenario/scenario_files.hpp"

/// The `cluster` part of a scenario.
namespace lockstep {

/// A cluster and the `cluster` part that leads to it again, every default said.
struct ReadCluster {
  ScenarioCluster cluster;
  JsonValue resolved;
};

/// The id or path of a cluster's file, {"file": id or path, "nodes": n, "ranks": n, "gpu": id of a
/// device instead of the file's}, or nodes in a few figures, as scenario_node.hpp says.
/// The first form may override members of the file in part: "topology", "node", "graph" and
/// "fabric" are merged into the file's objects, e.g. {"fabric": {"link": {"bandwidth": "200
/// Gb/s"}}}. `servers`: parameter servers, for which single GPUs on a fabric get extra hosts, and
/// nodes need that many CPU sockets. Empty where something is wrong, which is noted.
[[nodiscard]] std::optional<ReadCluster> read_scenario_cluster(const ValueReader& at, int servers,
                                                               const ScenarioFolders& folders);

}  // namespace lockstep
