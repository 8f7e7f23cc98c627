#pragma once

#include <filesystem>
#include <string>

#include "sim/config/json.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// A cluster as a file describes it (configs/clusters/*.json, schema
/// configs/schema/cluster.schema.json): a builder with its figures; a node with its vertices and
/// cables one by one, repeated and joined by a fabric; or the whole with its vertices and cables.
struct ClusterFile {
  std::string name;
  std::string summary;
  std::string device;  // id of what computes, in configs/devices
  Cluster cluster;
};

/// Reads a cluster and builds it in the file's size, or in the size that is asked for.
/// Throws ConfigError with everything that is wrong with the file, or with why it cannot be had in
/// that size and what can.
[[nodiscard]] ClusterFile load_cluster(const std::filesystem::path& path,
                                       const ClusterSize& size = {});

/// The same from a document in memory.
[[nodiscard]] ClusterFile read_cluster(const JsonDocument& document, const ClusterSize& size = {});

}  // namespace lockstep
