#pragma once

#include <filesystem>
#include <string>

#include "sim/config/json/json.hpp"
#include "topologies/files/operating_costs.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// A cluster as described by a file (configs/clusters/*.json, schema
/// configs/schema/cluster.schema.json): a builder with its parameters; an explicit node, repeated
/// and connected by a fabric; or an explicit graph of the whole.
struct ClusterFile {
  std::string name;
  std::string summary;
  std::string device;  // id of its device in configs/devices
  Cluster cluster;
  OperatingCosts costs;
};

/// Reads a cluster and builds it in the file's size, or in the requested one. Throws ConfigError
/// with every problem of the file, or why that size is impossible and which are possible.
[[nodiscard]] ClusterFile load_cluster(const std::filesystem::path& path,
                                       const ClusterSize& size = {});

/// The same from a document in memory.
[[nodiscard]] ClusterFile read_cluster(const JsonDocument& document, const ClusterSize& size = {});

/// configs/schema/cluster.schema.json.
[[nodiscard]] JsonValue cluster_schema();

}  // namespace lockstep
