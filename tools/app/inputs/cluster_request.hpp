#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/inputs/config_folder.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep::app {

/// A cluster with what computes in it.
struct LoadedCluster {
  std::string name;
  std::string summary;
  Device device;
  Cluster cluster;
  /// What set_links and failed have done, a line each, and how many routes between ranks that
  /// concerns; to be shown with every result.
  std::vector<std::string> link_changes;
};

/// A cluster by file or shipped name, its size, routes and changed links.
struct ClusterRequest {
  std::string cluster{};  // file, or id of a shipped one
  std::optional<int> nodes{};
  std::optional<int> ranks{};
  std::string routes = "auto";
  std::uint64_t seed = 1;
  std::vector<std::pair<std::string, std::string>> set_links{};  // link, settings
  std::vector<std::string> failed{};

  [[nodiscard]] RoutePolicy policy() const;
  /// Throws ConfigError for what the file or the size has wrong, RequestError for links that are
  /// not there, Refusal where two ranks have no route left.
  [[nodiscard]] LoadedCluster load(int extra_hosts = 0) const;
  /// For messages and results: "star x 8", "dgx-h100, 4 nodes".
  [[nodiscard]] std::string path() const;
};

/// Links to change and links or vertices that have failed, as ClusterRequest has them.
struct LinkChangeRequest {
  std::vector<std::pair<std::string, std::string>> set_links{};
  std::vector<std::string> failed{};

  [[nodiscard]] bool any() const { return !set_links.empty() || !failed.empty(); }
};

/// Changes the links of a cluster; returns what was done, a line each, and how many routes between
/// ranks changed. Throws RequestError for links that are not there, Refusal where two ranks have no
/// route left.
[[nodiscard]] std::vector<std::string> apply_link_changes(const LinkChangeRequest& wanted,
                                                          RoutePolicy policy, std::uint64_t seed,
                                                          Cluster& cluster);

/// A shipped device by its id. Throws RequestError for `field` if there is none.
[[nodiscard]] Device find_device(const std::string& field, const std::string& id);

}  // namespace lockstep::app
