#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/network/network.hpp"
#include "topologies/graph/cluster.hpp"

/// Properties of a cluster that need no simulation.
namespace lockstep {

/// Number of elements of each kind, in the order of VertexKind and LinkKind. Links are directed,
/// two per cable; failed ones are included.
struct Census {
  std::array<std::size_t, kVertexKindNames.size()> vertices{};
  std::array<std::size_t, kLinkKindNames.size()> links{};

  [[nodiscard]] std::size_t count(VertexKind kind) const {
    return vertices[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::size_t count(LinkKind kind) const {
    return links[static_cast<std::size_t>(kind)];
  }
};
[[nodiscard]] Census take_census(const Cluster& cluster);

/// Bisection bandwidth in bytes per second, which may exceed the range of Rate, per direction.
struct Bisection {
  double up = 0;    // from the lower half of the ranks to the upper
  double down = 0;  // from the upper half to the lower

  [[nodiscard]] double least() const { return up < down ? up : down; }
  [[nodiscard]] bool is_even() const { return up == down; }
};

/// Minimum cuts between the lower and the upper half of the ranks, by usable bandwidth (nominal
/// times efficiency, each rounded up to whole bytes per second). With an odd number the middle rank
/// is in the upper half. A cut of the whole graph; that GPUs do not forward does not matter, since
/// they are the endpoints. Empty for fewer than two ranks. Time and memory grow with the number of
/// links.
[[nodiscard]] std::optional<Bisection> bisection(const Cluster& cluster);
/// The same with the link bandwidths of `network`.
[[nodiscard]] std::optional<Bisection> bisection(const Cluster& cluster, const Network& network);

/// Maximum length of routes between ranks, by several measures.
struct Diameter {
  std::int64_t hops = 0;
  Duration latency;
  /// Whether all pairs were examined. Above 512 ranks, 64 evenly spaced ones are, including the
  /// first and the last: a lower bound.
  bool exact = true;
};
[[nodiscard]] Diameter diameter(const Cluster& cluster, const Router& router);

/// The bottleneck link of a transfer alone on the route, and its rate; a split transfer needs only
/// its share of a link. Empty for a route without hops.
struct Bottleneck {
  LinkId link = 0;
  Rate rate;
};
[[nodiscard]] std::optional<Bottleneck> bottleneck(const Cluster& cluster, const Route& route);

}  // namespace lockstep
