#include "topologies/analysis/analysis.hpp"

#include <algorithm>
#include <vector>

#include "sim/base/check.hpp"
#include "topologies/graph/cluster_data.hpp"
#include "topologies/routing/route_length.hpp"
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

std::optional<RouteLength> length_of(const Router& router, EndpointId from, EndpointId to) {
  Route route;
  if (!router.route(from, to, route)) return std::nullopt;
  return RouteLength{path_length(route), route.latency};
}

/// By what copies have less than others.
void take_absent(const ClusterData& data, Census& census) {
  for (std::size_t copy = 0; copy < static_cast<std::size_t>(data.copies); ++copy) {
    for (VertexId v = 0; v < data.node_vertices(); ++v)
      if (data.is_absent(copy, v))
        --census.vertices[static_cast<std::size_t>((*data.node.graph)[v].kind)];
    for (std::size_t id = 0; id < data.links.size(); ++id) {
      const ClusterLink& link = data.links[id];
      if (data.is_absent(copy, link.from) || data.is_absent(copy, link.to))
        --census.links[static_cast<std::size_t>(link.kind)];
    }
    for (const VertexId terminal : data.terminals)
      if (data.is_absent(copy, terminal))
        census.links[static_cast<std::size_t>(LinkKind::network)] -= 2;
  }
}

}  // namespace

Census take_census(const Cluster& cluster) {
  Census census;
  const ClusterData& data = cluster.data();
  const auto copies = static_cast<std::size_t>(data.copies);
  const auto planes = static_cast<std::size_t>(data.planes);
  const auto add_vertices = [&](const Graph& graph, std::size_t times) {
    for (VertexId v = 0; v < vertex_count(graph); ++v)
      census.vertices[static_cast<std::size_t>(graph[v].kind)] += times;
  };
  const auto add_links = [&](const LinkTable& links, std::size_t times) {
    for (std::size_t id = 0; id < links.size(); ++id)
      census.links[static_cast<std::size_t>(links[id].kind)] += times;
  };
  add_vertices(*data.node.graph, copies);
  add_vertices(*data.fabric.plane, planes);
  add_links(data.links, copies);
  add_links(data.switch_links, planes);
  census.links[static_cast<std::size_t>(LinkKind::network)] += planes * data.host_links();
  if (data.has_unequal_copies()) take_absent(data, census);
  if (!data.single_gpus()) return census;
  const std::size_t hosts = copies - static_cast<std::size_t>(data.rank_count);
  census.vertices[static_cast<std::size_t>(VertexKind::gpu)] -= hosts;
  census.vertices[static_cast<std::size_t>(VertexKind::host)] += hosts;
  return census;
}

Diameter diameter(const Cluster& cluster, const Router& router) {
  const auto chosen = sample(cluster.ranks());
  Diameter longest;
  longest.exact = chosen.size() == static_cast<std::size_t>(cluster.ranks());
  const auto* lengths = dynamic_cast<const LengthRouter*>(&router);
  for (const EndpointId from : chosen) {
    for (const EndpointId to : chosen) {
      const auto length = lengths ? lengths->length(from, to) : length_of(router, from, to);
      LOCKSTEP_CHECK(length.has_value());
      longest.hops = std::max(longest.hops, length->hops);
      longest.latency = std::max(longest.latency, length->latency);
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
