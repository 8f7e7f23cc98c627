#include "topologies/in_network/switch_forest.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "topologies/in_network/switch_tree.hpp"
#include "topologies/routing/route_segments.hpp"

namespace lockstep {
namespace {

/// What the forest is made of, in vertices of the cluster.
struct Trees {
  std::vector<VertexId> above_rank;  // per rank
  SwitchTree switches;
};

SwitchForest numbered(const Cluster& cluster, const Trees& trees, int switches_before) {
  SwitchForest forest;
  std::map<VertexId, int> node_of;
  const auto first = static_cast<EndpointId>(cluster.endpoints() + switches_before);
  for (const auto& [vertex, above] : trees.switches) {
    const auto k = static_cast<int>(forest.switches.size());
    node_of[vertex] = cluster.ranks() + k;
    forest.switches.push_back(first + static_cast<EndpointId>(k));
    forest.vertices.push_back(vertex);
  }
  for (const VertexId above : trees.above_rank) forest.parent.push_back(node_of.at(above));
  for (const auto& [vertex, above] : trees.switches) {
    forest.parent.push_back(above ? node_of.at(*above) : -1);
  }
  return forest;
}

// --- in nodes

using Marks = std::vector<bool>;

/// Per vertex of a node the NVSwitch that it is cabled to, both ways; none where there are several.
std::vector<std::optional<VertexId>> nvswitches(const Graph& graph, const Marks& failed) {
  std::vector<std::set<VertexId>> up(vertex_count(graph));
  std::vector<std::set<VertexId>> down(vertex_count(graph));
  for_each_link(graph, [&](VertexId from, VertexId to, const GraphLink& link) {
    if (!failed.empty() && failed[link.id]) return;
    if (graph[to].kind == VertexKind::nvswitch) up[from].insert(to);
    if (graph[from].kind == VertexKind::nvswitch) down[to].insert(from);
  });
  std::vector<std::optional<VertexId>> only(up.size());
  for (std::size_t v = 0; v < up.size(); ++v) {
    if (up[v].size() == 1 && up[v] == down[v]) only[v] = *up[v].begin();
  }
  return only;
}

std::optional<Trees> trees_in_nodes(const Cluster& cluster) {
  const ClusterData& data = cluster.data();
  const Graph& graph = *data.node.graph;
  const auto usual = nvswitches(graph, {});
  std::map<std::size_t, std::vector<std::optional<VertexId>>> failed;  // by copy
  for (const auto& [copy, lost] : failed_links_of(cluster, FabricPorts{data}).nodes) {
    failed[copy] = nvswitches(graph, lost.links);
  }
  Trees trees;
  for (EndpointId rank = 0; rank < static_cast<EndpointId>(cluster.ranks()); ++rank) {
    const VertexId vertex = cluster.vertex_of(rank);
    const std::size_t copy = vertex / data.node_vertices();
    const auto found = failed.find(copy);
    const auto& above = found == failed.end() ? usual : found->second;
    const auto nvswitch = above[vertex % data.node_vertices()];
    if (!nvswitch) return std::nullopt;
    const auto id = static_cast<VertexId>(copy * data.node_vertices() + *nvswitch);
    trees.above_rank.push_back(id);
    trees.switches[id] = std::nullopt;
  }
  return trees;
}

// --- between nodes

VertexId vertex_of(const ClusterData& data, const FabricPort& port) {
  return static_cast<VertexId>(data.first_switch() + port.plane * data.plane_vertices() +
                               port.leaf);
}

/// Where the NIC of a rank's own rail is cabled to.
std::optional<FabricPort> port_of(const ClusterData& data, const RouteSegments& segments,
                                  EndpointId rank) {
  const auto [copy, place] = place_of(data, rank);
  const int rail = segments.tables().rail_of(place);
  const auto exit = segments.exit(copy, place, rail);
  return exit == segments.entry(copy, place, rail) ? exit : std::nullopt;
}

std::optional<Trees> trees_in_planes(const Cluster& cluster) {
  const ClusterData& data = cluster.data();
  const RouteSegments segments{cluster, RoutePolicy::shortest};
  const FailedLinks failed_links = failed_links_of(cluster, segments.ports());
  const SwitchGraph usual{*data.fabric.plane};
  std::map<std::size_t, std::set<VertexId>> leaves;  // per plane
  Trees trees;
  for (EndpointId rank = 0; rank < static_cast<EndpointId>(cluster.ranks()); ++rank) {
    const auto port = port_of(data, segments, rank);
    if (!port) return std::nullopt;
    leaves[port->plane].insert(port->leaf);
    trees.above_rank.push_back(vertex_of(data, *port));
  }
  for (const auto& [plane, of_plane] : leaves) {
    const auto lost = failed_links.planes.find(plane);
    const bool whole = lost == failed_links.planes.end();
    const std::vector<VertexId> below{of_plane.begin(), of_plane.end()};
    const auto tree = whole ? usual.tree_over(below)
                            : SwitchGraph{*data.fabric.plane, lost->second}.tree_over(below);
    if (!tree) return std::nullopt;
    for (const auto& [vertex, above] : *tree) {
      auto& entry = trees.switches[vertex_of(data, {plane, vertex})];
      if (above) entry = vertex_of(data, {plane, *above});
    }
  }
  return trees;
}

std::vector<VertexId> leaves_of(const Graph& graph) {
  std::vector<VertexId> leaves;
  for (VertexId v = 0; v < vertex_count(graph); ++v) {
    if (graph[v].kind == VertexKind::leaf_switch) leaves.push_back(v);
  }
  return leaves;
}

/// The leaf that a rank reaches in fewest hops, then least latency, then of lowest id.
std::optional<VertexId> nearest(const RouteSegments& segments, VertexId rank,
                                const std::vector<VertexId>& leaves) {
  std::optional<VertexId> best;
  std::pair<std::size_t, Duration> least;
  for (const VertexId leaf : leaves) {
    Route route;
    if (!segments.inside(0, rank, leaf, 0, route)) continue;
    const std::pair length{route.hops.size(), route.latency};
    if (best && length >= least) continue;
    best = leaf;
    least = length;
  }
  return best;
}

/// In a cluster that is one graph, what is joined stands for a plane.
std::optional<Trees> trees_in_graph(const Cluster& cluster) {
  const Graph& whole = *cluster.data().node.graph;
  const RouteSegments segments{cluster, RoutePolicy::shortest};
  FailedLinks failed_links = failed_links_of(cluster, segments.ports());
  const SwitchGraph graph{whole, failed_links.nodes[0].links};
  const auto component = graph.components();
  const auto all = leaves_of(whole);
  std::map<int, std::set<VertexId>> leaves;  // per component
  Trees trees;
  for (EndpointId rank = 0; rank < static_cast<EndpointId>(cluster.ranks()); ++rank) {
    const auto leaf = nearest(segments, cluster.vertex_of(rank), all);
    if (!leaf) return std::nullopt;
    leaves[component[*leaf]].insert(*leaf);
    trees.above_rank.push_back(*leaf);
  }
  for (const auto& [number, of_one] : leaves) {
    const auto tree = graph.tree_over({of_one.begin(), of_one.end()});
    if (!tree) return std::nullopt;
    trees.switches.insert(tree->begin(), tree->end());
  }
  return trees;
}

std::optional<Trees> trees_of(const Cluster& cluster, SwitchTier tier) {
  if (tier == SwitchTier::nvswitch) return trees_in_nodes(cluster);
  return cluster.data().planes != 0 ? trees_in_planes(cluster) : trees_in_graph(cluster);
}

}  // namespace

std::optional<SwitchForest> switch_forest(const Cluster& cluster, SwitchTier tier,
                                          int switches_before) {
  const auto trees = trees_of(cluster, tier);
  if (!trees) return std::nullopt;
  return numbered(cluster, *trees, switches_before);
}

}  // namespace lockstep
