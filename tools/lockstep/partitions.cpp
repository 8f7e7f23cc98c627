#include "tools/lockstep/partitions.hpp"

#include "topologies/analysis.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace lockstep::cli {

namespace {

/// Bandwidth over the edge of a group of vertices, in rate steps.
struct Edge {
  UInt128 leaving = 0;
  UInt128 entering = 0;

  static Rate rate(UInt128 steps) {
    return Rate::from_steps(static_cast<std::uint64_t>(std::min<UInt128>(steps, Rate::kMaxSteps)));
  }
  [[nodiscard]] bool open() const { return leaving > 0 && entering > 0; }
};

/// Cuts by a function that names every vertex's group, or -1 for none.
template <typename GroupOf>
std::map<std::int64_t, Edge> edges(const Cluster& cluster, GroupOf group_of) {
  std::map<std::int64_t, Edge> out;
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    const ClusterLink link = cluster.link(id);
    const std::int64_t from = group_of(link.from);
    const std::int64_t to = group_of(link.to);
    if (from == to) continue;
    const std::uint64_t steps = link.figures.carried().steps();
    if (from >= 0) out[from].leaving += steps;
    if (to >= 0) out[to].entering += steps;
  }
  return out;
}

Partition into_end_points(const Cluster& cluster, int helpers) {
  std::map<VertexId, EndpointId> end_points;
  for (int i = 0; i < cluster.ranks() + helpers; ++i)
    end_points[cluster.vertex_of(static_cast<EndpointId>(i))] = static_cast<EndpointId>(i);
  const auto cuts = edges(cluster, [&](VertexId vertex) -> std::int64_t {
    const auto found = end_points.find(vertex);
    return found == end_points.end() ? -1 : std::int64_t{found->second};
  });
  Partition out("ports");
  for (const auto& [end_point, edge] : cuts) {
    if (!edge.open()) {
      if (end_point < cluster.ranks()) out.skip(1);
      continue;
    }
    if (end_point < cluster.ranks()) {
      out.add(Edge::rate(edge.leaving), Edge::rate(edge.entering));
    } else {
      out.add_helpers(Edge::rate(edge.leaving), Edge::rate(edge.entering));
    }
  }
  return out;
}

/// Beyond this many links the cut takes longer than it tells.
constexpr std::size_t kMostLinksToBisect = 1'000'000;

/// The narrowest cut between the lower and the upper half of the ranks: two groups, whatever else
/// lies on either side.
std::optional<Partition> into_halves(const Cluster& cluster) {
  if (cluster.ranks() < 2 || cluster.link_count() > kMostLinksToBisect) return std::nullopt;
  const auto bandwidth = bisection_bytes_per_second(cluster);
  constexpr double kMost = 1e14;  // bytes per second; a Rate holds a little more
  if (!bandwidth || !(*bandwidth > 0) || *bandwidth > kMost) return std::nullopt;
  const Rate rate = Rate::bytes_per_second(1).scaled(*bandwidth);
  Partition out("bisection");
  out.add(rate, rate, 1, cluster.ranks() / 2);
  out.add(rate, rate, 1, cluster.ranks() - cluster.ranks() / 2);
  return out;
}

}  // namespace

std::vector<Partition> partitions_of(const Cluster& cluster, int helpers) {
  std::vector<Partition> out;
  out.push_back(into_end_points(cluster, helpers));
  if (auto halves = into_halves(cluster)) out.push_back(std::move(*halves));
  if (cluster.nodes() < 2 || cluster.gpus_per_node() < 2) return out;
  const auto cuts =
      edges(cluster, [&](VertexId vertex) -> std::int64_t { return cluster.vertex(vertex).node; });
  Partition nodes("nodes");
  for (const auto& [node, edge] : cuts) {
    const std::int64_t members = cluster.gpus_per_node();
    if (edge.open()) {
      nodes.add(Edge::rate(edge.leaving), Edge::rate(edge.entering), 1, members);
    } else {
      nodes.skip(members);
    }
  }
  out.push_back(std::move(nodes));
  return out;
}

}  // namespace lockstep::cli
