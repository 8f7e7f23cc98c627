#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/json/json.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/failures/link_changes.hpp"
#include "topologies/failures/rerouted.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep::app {

/// Effects of modified and failed links on the links and on the routes between ranks.
struct LinkEffects {
  std::vector<LinkEffect> links{};     // in the order of the request
  std::optional<Rerouted> rerouted{};  // none: unchanged, or too many ranks to compare

  [[nodiscard]] bool any() const { return !links.empty(); }
};

/// A cluster and its device.
struct LoadedCluster {
  std::string name;
  std::string summary;
  Device device;
  Cluster cluster;
  LinkEffects link_changes;  // of the requested changes
  std::string file{};        // that was read; empty: none
};

/// A cluster by file or shipped name, with size, routes and modified links.
struct ClusterRequest {
  std::string cluster{};  // file, or id of a shipped one
  std::optional<int> nodes{};
  std::optional<int> ranks{};
  std::string routes = "auto";
  std::uint64_t seed = 1;
  std::vector<std::pair<std::string, std::string>> set_links{};  // link, settings
  std::vector<std::string> failed{};
  std::optional<JsonDocument> document{};  // instead of a file
  std::vector<std::string> overrides{};    // of the file's values: "topology.shape=[8,8]"

  [[nodiscard]] RoutePolicy policy() const;
  /// Throws ConfigError for an invalid file or size, RequestError for missing links, Refusal if two
  /// ranks are disconnected.
  [[nodiscard]] LoadedCluster load(int extra_hosts = 0) const;
  /// For errors and results: "star x 8", "dgx-h100, 4 nodes".
  [[nodiscard]] std::string path() const;
};

/// Modified links and failed links or vertices, as in ClusterRequest.
struct LinkChangeRequest {
  std::vector<std::pair<std::string, std::string>> set_links{};
  std::vector<std::string> failed{};

  [[nodiscard]] bool any() const { return !set_links.empty() || !failed.empty(); }
};

/// Modifies the links of a cluster. Throws RequestError for missing links and for settings of links
/// that all fail, Refusal if two ranks are disconnected.
[[nodiscard]] LinkEffects apply_link_changes(const LinkChangeRequest& wanted, RoutePolicy policy,
                                             std::uint64_t seed, Cluster& cluster);

/// A shipped device by id. Throws RequestError for `field` if there is none.
[[nodiscard]] Device find_device(const std::string& field, const std::string& id);

}  // namespace lockstep::app
