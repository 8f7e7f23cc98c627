#include "topologies/graph/scaled_links.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "topologies/graph/cluster_data.hpp"

namespace lockstep {
namespace {

constexpr double kMostLatency = 1e12;  // ps

class Scaling {
 public:
  explicit Scaling(const LinkKindFactors& factors) : factors_{factors} {}

  [[nodiscard]] LinkFigures of(LinkKind kind, const LinkFigures& figures) const {
    const LinkFactors& factors = factors_.at(static_cast<std::size_t>(kind));
    return {scaled_rate(figures.bandwidth, factors.bandwidth),
            scaled_latency(figures.latency, factors.latency), figures.efficiency,
            factors.bandwidth == 1 ? figures.provenance : Provenance::assumed,
            factors.latency == 1 ? figures.latency_provenance : Provenance::assumed};
  }

  /// With links in the order of their ids, so that they keep them.
  [[nodiscard]] Graph of(const Graph& graph) const {
    Graph out;
    for (VertexId v = 0; v < vertex_count(graph); ++v) add_vertex(out, graph[v]);
    const LinkTable links{graph};
    for (std::size_t id = 0; id < links.size(); ++id)
      add_link(out, links[id].from, links[id].to, links[id].kind,
               of(links[id].kind, links[id].figures));
    return out;
  }

 private:
  const LinkKindFactors& factors_;
};

}  // namespace

Rate scaled_rate(Rate rate, double factor) {
  const double steps = std::nearbyint(static_cast<double>(rate.steps()) * factor);
  const double most = static_cast<double>(Rate::kMaxSteps);
  return Rate::from_steps(static_cast<std::uint64_t>(std::clamp(steps, 1.0, most)));
}

Duration scaled_latency(Duration latency, double factor) {
  const double ps = static_cast<double>(latency.ps()) * factor;
  return Duration::picoseconds(std::llround(std::min(ps, kMostLatency)));
}

Cluster with_scaled_links(const Cluster& cluster, const LinkKindFactors& factors) {
  const Scaling scaled{factors};
  const ClusterData& from = cluster.data();
  auto data = std::make_shared<ClusterData>();
  *data->node.graph = scaled.of(*from.node.graph);
  data->node.dimensions = from.node.dimensions;
  data->copies = from.copies;
  data->rank_count = from.rank_count;
  data->auxiliary_count = from.auxiliary_count;
  data->direct_nodes = from.direct_nodes;
  data->gpus_per_node = from.gpus_per_node;
  data->node_ends = from.node_ends;
  data->names_of_node = from.names_of_node;
  data->gpus = from.gpus;
  data->cpus = from.cpus;
  data->terminals = from.terminals;
  data->links = LinkTable{*data->node.graph};
  data->planes = from.planes;
  data->rail_first = from.rail_first;
  data->fabric.planes = from.fabric.planes;
  data->fabric.rail_first = from.fabric.rail_first;
  *data->fabric.plane = scaled.of(*from.fabric.plane);
  data->fabric.host_link = scaled.of(LinkKind::network, from.fabric.host_link);
  data->fabric.switch_of = from.fabric.switch_of;
  data->plane_terminals = from.plane_terminals;
  data->switch_links = LinkTable{*data->fabric.plane};
  std::vector<LinkState> states;
  for (LinkState state : cluster.overlay().all()) {
    const LinkKind kind = cluster.built_link(state.id).kind;
    if (!state.failed) state.figures = scaled.of(kind, state.figures);
    states.push_back(state);
  }
  return Cluster{std::move(data)}.with(LinkOverlay{std::move(states)});
}

}  // namespace lockstep
