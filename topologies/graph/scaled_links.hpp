#pragma once

#include <array>

#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Factors on what every link of a kind has; both above 0.
struct LinkFactors {
  double bandwidth = 1;
  double latency = 1;
  friend bool operator==(const LinkFactors&, const LinkFactors&) = default;
};

/// The factor is above 0; the result is what a Rate can express.
[[nodiscard]] Rate scaled_rate(Rate rate, double factor);
/// The same; at most a second, as in a file, so that no path overflows.
[[nodiscard]] Duration scaled_latency(Duration latency, double factor);

/// By LinkKind.
using LinkKindFactors = std::array<LinkFactors, kLinkKindNames.size()>;

/// The cluster as if it had been built of links with other bandwidths and latencies, changed and
/// failed links included. Figures as scaled_rate() and scaled_latency() have them.
[[nodiscard]] Cluster with_scaled_links(const Cluster& cluster, const LinkKindFactors& factors);

}  // namespace lockstep
