#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  /// What --set-link and --fail have done, a line each, and how many ways between ranks that
  /// concerns; to be shown with every result.
  std::vector<std::string> link_changes;
};

/// The options by which every command names a cluster: --cluster, --nodes, --ranks, --routes,
/// --set-link, --fail.
struct ClusterOptions {
  std::string cluster;  // what it is before add_to is the default; empty: it has to be given
  std::optional<int> nodes;
  std::optional<int> ranks;
  std::string routes = "auto";
  std::uint64_t seed = 1;
  std::vector<std::pair<std::string, std::string>> set_links;  // link, settings
  std::vector<std::string> failed;

  void add_to(CLI::App& command);
  [[nodiscard]] RoutePolicy policy() const;
  /// Throws ConfigError for what the file or the size has wrong, UsageError for links that are not
  /// there, Refusal where two ranks have no route left.
  [[nodiscard]] LoadedCluster load(int extra_hosts = 0) const;
  /// For messages and results: "star x 8", "dgx-h100, 4 nodes".
  [[nodiscard]] std::string path() const;

 private:
  void add_links_to(CLI::App& command);
  void change_links_of(LoadedCluster& loaded) const;
};

/// A shipped device by its id. Throws UsageError, with `option` before it, where there is none.
[[nodiscard]] Device find_device(const std::string& option, const std::string& id);

/// Where the shipped configs are: $LOCKSTEP_CONFIGS, else ./configs, else where the tool was built
/// or installed from.
[[nodiscard]] std::string config_folder();

}  // namespace lockstep::cli
