#include "topologies/analysis/analysis.hpp"

#include <algorithm>
#include <vector>

#include "sim/base/check.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep {
namespace {

/// Which ranks stand for all.
std::vector<EndpointId> sample(int ranks) {
  constexpr int kMostExact = 512;
  constexpr int kSample = 64;
  const bool all = ranks <= kMostExact;
  const int count = all ? ranks : kSample;
  std::vector<EndpointId> chosen;
  for (int i = 0; i < count; ++i) {
    const std::int64_t rank = all ? i : std::int64_t{i} * (ranks - 1) / (kSample - 1);
    chosen.push_back(static_cast<EndpointId>(rank));
  }
  return chosen;
}

/// What one transfer gets of a link of which it needs that share: a weight of the whole unit takes
/// it once. Rates and weights multiply beyond 64 bits.
std::uint64_t steps_allowed(Rate carried, Weight weight) {
  const UInt128 steps = UInt128{carried.steps()} * kWeightUnit / weight;
  return static_cast<std::uint64_t>(std::min(steps, UInt128{Rate::kMaxSteps}));
}

}  // namespace

Census take_census(const Cluster& cluster) {
  Census census;
  for (VertexId v = 0; v < cluster.vertex_count(); ++v) {
    ++census.vertices[static_cast<std::size_t>(cluster.vertex(v).kind)];
  }
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    ++census.links[static_cast<std::size_t>(cluster.link(id).kind)];
  }
  return census;
}

Diameter diameter(const Cluster& cluster, const Router& router) {
  const auto chosen = sample(cluster.ranks());
  Diameter longest;
  longest.exact = chosen.size() == static_cast<std::size_t>(cluster.ranks());
  Route route;
  for (const EndpointId from : chosen) {
    for (const EndpointId to : chosen) {
      LOCKSTEP_CHECK(router.route(from, to, route));
      longest.hops = std::max(longest.hops, path_length(route));
      longest.latency = std::max(longest.latency, route.latency);
    }
  }
  return longest;
}

std::optional<Bottleneck> bottleneck(const Cluster& cluster, const Route& route) {
  std::optional<Bottleneck> found;
  for (const Hop& hop : route.hops) {
    const std::uint64_t steps = steps_allowed(cluster.link(hop.link).figures.carried(), hop.weight);
    if (!found || steps < found->rate.steps()) found = {hop.link, Rate::from_steps(steps)};
  }
  return found;
}

}  // namespace lockstep
