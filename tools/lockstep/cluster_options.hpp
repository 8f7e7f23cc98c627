#pragma once

#include <optional>
#include <string>

#include "topologies/cluster_file.hpp"
#include "topologies/config/device.hpp"
#include "topologies/routing.hpp"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// A cluster with what computes in it.
struct LoadedCluster {
  std::string name;
  std::string summary;
  Device device;
  Cluster cluster;
};

/// The options by which every command names a cluster: --cluster, --nodes, --ranks, --routes.
struct ClusterOptions {
  std::string cluster;
  std::optional<int> nodes;
  std::optional<int> ranks;
  std::string routes = "auto";
  std::uint64_t seed = 1;

  void add_to(CLI::App& command);
  [[nodiscard]] RoutePolicy policy() const;
  /// Throws ConfigError for what the file or the size has wrong.
  [[nodiscard]] LoadedCluster load(int extra_hosts = 0) const;
  /// For messages and results: "star x 8", "dgx-h100, 4 nodes".
  [[nodiscard]] std::string path() const;
};

/// Where the shipped configs are: $LOCKSTEP_CONFIGS, else ./configs, else where the tool was built
/// or installed from.
[[nodiscard]] std::string config_folder();

}  // namespace lockstep::cli
