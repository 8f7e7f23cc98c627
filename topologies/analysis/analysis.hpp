#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/network/network.hpp"
#include "topologies/graph/cluster.hpp"

/// What can be said of a cluster without running anything.
namespace lockstep {

/// How many there are of each kind, in the order of VertexKind and LinkKind. Links are directed: a
/// cable is two; those that have failed count as well.
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

/// The bisection bandwidth in bytes per second (it may be beyond what a Rate holds), by direction.
struct Bisection {
  double up = 0;    // from the lower half of the ranks to the upper
  double down = 0;  // from the upper half to the lower

  [[nodiscard]] double least() const { return up < down ? up : down; }
  [[nodiscard]] bool is_even() const { return up == down; }
};

/// The minimum cuts between the lower and the upper half of the ranks, of what links carry (nominal
/// times efficiency, each rounded up to whole bytes per second). Of an odd number the middle rank
/// is in the upper half. It is a cut of the whole graph: that GPUs do not forward makes no
/// difference to it, since they are the ends. Empty for fewer than two ranks. Takes time and memory
/// with the number of links.
[[nodiscard]] std::optional<Bisection> bisection(const Cluster& cluster);
/// The same where the cluster's links carry what they do in `network`.
[[nodiscard]] std::optional<Bisection> bisection(const Cluster& cluster, const Network& network);

/// The longest routes between ranks, each by its own measure.
struct Diameter {
  std::int64_t hops = 0;
  Duration latency;
  /// Whether all pairs were looked at. Beyond 512 ranks 64 of them are, spread evenly, the first
  /// and the last included: what is found is then a lower bound.
  bool exact = true;
};
[[nodiscard]] Diameter diameter(const Cluster& cluster, const Router& router);

/// The link that limits a transfer which has the route to itself, and the rate that it allows; a
/// split transfer needs only its share of a link. Empty for a route without hops.
struct Bottleneck {
  LinkId link = 0;
  Rate rate;
};
[[nodiscard]] std::optional<Bottleneck> bottleneck(const Cluster& cluster, const Route& route);

}  // namespace lockstep
