#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"
#include "topologies/graph/cluster.hpp"

/// Links that are slower or later than a cluster was built with, or gone.
namespace lockstep {

/// What is wanted of some links; what is absent stays as it is.
struct LinkChange {
  /// "node0/gpu3 -> node0/nvswitch0" for one direction, "node0/gpu3--node0/nvswitch0" for both, or
  /// a switch, a NIC, any other vertex ("rail0/leaf0") or a node ("node3") for all its links.
  std::string links;
  std::optional<double> bandwidth_factor{};  // of what it carries
  std::optional<Rate> bandwidth{};           // what it then carries
  std::optional<Duration> latency{};
  bool failed = false;
};

/// A change that cannot be made. The text lists what is available.
class LinkChangeError : public Error {
 public:
  explicit LinkChangeError(const std::string& message) : Error{ErrorCode::invalid_input, message} {}
};

/// Reads "bandwidth=50%,latency=5 us" or "bandwidth=25 GB/s". Throws LinkChangeError.
[[nodiscard]] LinkChange parse_link_settings(std::string_view links, std::string_view settings);

struct ChangedCluster {
  Cluster cluster;
  /// What was done, a line per change: "node0/nic0 -> rail0/leaf0: 50 GB/s -> 25 GB/s",
  /// "rail0/leaf0 failed: 16 links".
  std::vector<std::string> notes;
};

/// The cluster with the changes made one after the other, each to what the one before has left; a
/// link that has failed stays so. Routes, bandwidths and latencies of the result are those of the
/// changed links. Throws LinkChangeError for a name that nothing has, with the one that was meant.
[[nodiscard]] ChangedCluster change_links(const Cluster& cluster,
                                          std::span<const LinkChange> changes);

}  // namespace lockstep
