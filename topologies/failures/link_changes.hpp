#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "topologies/graph/cluster.hpp"

/// Links with reduced bandwidth, added latency, or failures.
namespace lockstep {

/// A change of some links; absent values are unchanged.
struct LinkChange {
  /// "node0/gpu3 -> node0/nvswitch0" for one direction, "node0/gpu3--node0/nvswitch0" for both, or
  /// a switch, a NIC, any other vertex ("rail0/leaf0") or a node ("node3") for all its links.
  std::string links;
  std::optional<double> bandwidth_factor{};  // of the usable bandwidth
  std::optional<Rate> bandwidth{};           // usable bandwidth
  std::optional<Duration> latency{};
  bool failed = false;
};

/// An impossible change. The text lists what is available.
class LinkChangeError : public Error {
 public:
  explicit LinkChangeError(const std::string& message) : Error{ErrorCode::invalid_input, message} {}
};

/// Parses "bandwidth=50%,latency=5 us" or "bandwidth=25 GB/s". Throws LinkChangeError.
[[nodiscard]] LinkChange parse_link_settings(std::string_view links, std::string_view settings);

/// Effect of one change.
struct LinkEffect {
  LinkChange change;
  std::string links;      // by the names of their ends, "node0/nic0 -> rail0/leaf0"
  std::size_t count = 0;  // of links
  /// Usable bandwidth and latency before and after; none if the links differ in them.
  std::optional<std::pair<Rate, Rate>> bandwidth{};
  std::optional<std::pair<Duration, Duration>> latency{};
};

/// "node0/nic0 -> rail0/leaf0: 50 GB/s -> 25 GB/s", "rail0/leaf0 failed: 16 links".
[[nodiscard]] std::string describe(const LinkEffect& effect);

struct ChangedCluster {
  Cluster cluster;
  std::vector<LinkEffect> effects;  // of each change
};

/// The cluster after the changes, applied in order; a failed link stays failed. Routes, bandwidths
/// and latencies of the result reflect them. Throws LinkChangeError for an unknown name, with a
/// suggestion.
[[nodiscard]] ChangedCluster change_links(const Cluster& cluster,
                                          std::span<const LinkChange> changes);

}  // namespace lockstep
