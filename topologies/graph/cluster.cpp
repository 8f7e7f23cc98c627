#include "topologies/graph/cluster.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "topologies/graph/cluster_data.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep {
namespace {

std::size_t to_size(int count) {
  return static_cast<std::size_t>(count);
}

/// Which terminal of a plane, on which node.
struct Terminal {
  std::size_t copy;
  VertexId vertex;  // in the node
};

Terminal terminal_at(const ClusterData& data, std::size_t plane, std::size_t terminal) {
  const auto& of_plane = data.plane_terminals[plane];
  return {terminal / of_plane.size(), of_plane[terminal % of_plane.size()]};
}

ClusterLink host_link(const ClusterData& data, std::size_t plane, std::size_t index) {
  const auto [copy, vertex] = terminal_at(data, plane, index / 2);
  const auto host = static_cast<VertexId>(copy * data.node_vertices() + vertex);
  const auto above = static_cast<VertexId>(data.first_switch() + plane * data.plane_vertices() +
                                           data.fabric.switch_of[index / 2]);
  const bool up = index % 2 == 0;
  return {up ? host : above, up ? above : host, LinkKind::network, data.fabric.host_link};
}

ClusterLink shifted(ClusterLink link, std::size_t vertices) {
  link.from += static_cast<VertexId>(vertices);
  link.to += static_cast<VertexId>(vertices);
  return link;
}

ClusterLink plane_link(const ClusterData& data, std::size_t index) {
  const std::size_t plane = index / data.plane_links();
  const std::size_t in_plane = index % data.plane_links();
  if (in_plane < data.host_links()) return host_link(data, plane, in_plane);
  return shifted(data.switch_links[in_plane - data.host_links()],
                 data.first_switch() + plane * data.plane_vertices());
}

std::string name_of_switch(const ClusterData& data, std::size_t index) {
  const Vertex& vertex = (*data.fabric.plane)[index % data.plane_vertices()];
  std::string name{to_string(vertex.kind)};
  name += std::to_string(vertex.local);
  if (data.planes == 1) return name;
  return "rail" + std::to_string(index / data.plane_vertices()) + "/" + name;
}

}  // namespace

LinkTable::LinkTable(const Graph& graph) : links_(lockstep::link_count(graph)) {
  for_each_link(graph, [this](VertexId from, VertexId to, const GraphLink& link) {
    links_[link.id] = {from, to, link.kind, link.figures};
  });
}

/// Ranks have their share of the node's CPUs and NICs, in the same order.
bool ClusterData::is_absent(std::size_t copy, VertexId of_node) const {
  if (!has_unequal_copies()) return false;
  const Vertex& vertex = (*node.graph)[of_node];
  const std::size_t all = vertex.kind == VertexKind::gpu   ? gpus.size()
                          : vertex.kind == VertexKind::cpu ? cpus.size()
                          : vertex.kind == VertexKind::nic ? terminals.size()
                                                           : 0;
  return to_size(vertex.local) * gpus.size() >= (first_rank(copy + 1) - first_rank(copy)) * all &&
         all > 0;
}

EndpointPlace place_of(const ClusterData& data, EndpointId endpoint) {
  if (data.single_gpus()) return {endpoint, 0};
  const auto ranks = static_cast<EndpointId>(data.rank_count);
  const std::size_t gpus = data.gpus.size();
  const bool is_rank = endpoint < ranks;
  const std::size_t places = is_rank ? gpus : data.cpus.size();
  const std::size_t index = is_rank ? endpoint : endpoint - ranks;
  const std::size_t before = is_rank ? 0 : gpus;
  if (!data.has_unequal_copies()) return {index / places, before + index % places};
  const auto rank = static_cast<int>(index * gpus / places);
  const auto above = std::upper_bound(data.node_ends.begin(), data.node_ends.end(), rank);
  const auto copy = static_cast<std::size_t>(above - data.node_ends.begin());
  return {copy, before + index - data.first_rank(copy) * places / gpus};
}

int Cluster::nodes() const {
  if (data_->single_gpus()) return data_->rank_count;
  if (data_->copies > 1) return data_->copies;
  return data_->direct_nodes;
}

std::vector<int> Cluster::dimensions() const {
  return data_->node.dimensions;
}

int Cluster::gpus_per_node() const {
  return data_->gpus_per_node;
}

int Cluster::ranks() const {
  return data_->rank_count;
}

int Cluster::auxiliary_ranks() const {
  return data_->auxiliary_count;
}

VertexId Cluster::vertex_of(EndpointId endpoint) const {
  LOCKSTEP_CHECK(endpoint < static_cast<EndpointId>(endpoints()));
  if (data_->single_gpus()) return endpoint;
  const auto [copy, place] = place_of(*data_, endpoint);
  const std::size_t gpus = data_->gpus.size();
  return static_cast<VertexId>(copy * data_->node_vertices() +
                               (place < gpus ? data_->gpus[place] : data_->cpus[place - gpus]));
}

std::size_t Cluster::vertex_count() const {
  return data_->first_switch() + to_size(data_->planes) * data_->plane_vertices();
}

std::size_t Cluster::link_count() const {
  return data_->first_plane_link() + to_size(data_->planes) * data_->plane_links();
}

Vertex Cluster::vertex(VertexId id) const {
  LOCKSTEP_CHECK(id < vertex_count());
  if (id >= data_->first_switch()) {
    const std::size_t index = id - data_->first_switch();
    Vertex vertex = (*data_->fabric.plane)[index % data_->plane_vertices()];
    if (data_->planes > 1) vertex.rail = static_cast<int>(index / data_->plane_vertices());
    return vertex;
  }
  const std::size_t copy = id / data_->node_vertices();
  Vertex vertex = (*data_->node.graph)[id % data_->node_vertices()];
  vertex.node += static_cast<int>(copy);
  const bool extra = data_->single_gpus() && copy >= to_size(data_->rank_count);
  if (extra) vertex.kind = VertexKind::host;
  return vertex;
}

std::string Cluster::vertex_name(VertexId id) const {
  if (id >= data_->first_switch()) return name_of_switch(*data_, id - data_->first_switch());
  const Vertex own = vertex(id);
  if (!own.name.empty() && !data_->names_of_node) return own.name;
  if (!own.name.empty()) return "node" + std::to_string(own.node) + "/" + own.name;
  const std::string kind{to_string(own.kind)};
  const bool alone = data_->gpus_per_node == 1 && holds_a_rank(own.kind);
  if (alone) return kind + std::to_string(own.node - (own.kind == VertexKind::host ? ranks() : 0));
  return "node" + std::to_string(own.node) + "/" + kind + std::to_string(own.local);
}

Cluster Cluster::with(LinkOverlay overlay) const {
  Cluster changed = *this;
  changed.overlay_ = std::make_shared<const LinkOverlay>(std::move(overlay));
  return changed;
}

ClusterLink Cluster::link(LinkId id) const {
  ClusterLink link = built_link(id);
  if (const LinkState* state = overlay_->find(id)) link.figures = state->figures;
  return link;
}

bool Cluster::has_failed(LinkId id) const {
  const LinkState* state = overlay_->find(id);
  return state != nullptr && state->failed;
}

ClusterLink Cluster::built_link(LinkId id) const {
  LOCKSTEP_CHECK(id < link_count());
  if (id >= data_->first_plane_link()) return plane_link(*data_, id - data_->first_plane_link());
  return shifted(data_->links[id % data_->node_links()],
                 id / data_->node_links() * data_->node_vertices());
}

std::string Cluster::link_name(LinkId id) const {
  const ClusterLink found = built_link(id);
  return vertex_name(found.from) + " -> " + vertex_name(found.to);
}

Cluster flattened(const Cluster& cluster) {
  auto graph = std::make_unique<Graph>();
  std::vector<VertexId> places;
  for (VertexId v = 0; v < cluster.vertex_count(); ++v) {
    places.push_back(static_cast<VertexId>(vertex_count(*graph)));
    if (is_absent(cluster, v)) continue;
    Vertex vertex = cluster.vertex(v);
    vertex.name = cluster.vertex_name(v);
    add_vertex(*graph, std::move(vertex));
  }
  std::vector<LinkState> states;
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    if (is_absent_link(cluster, id)) continue;
    const ClusterLink link = cluster.built_link(id);
    if (const LinkState* state = cluster.overlay().find(id)) {
      states.push_back(*state);
      states.back().id = static_cast<LinkId>(link_count(*graph));
    }
    add_link(*graph, places[link.from], places[link.to], link.kind, link.figures);
  }
  return cluster_of(std::move(graph)).with(LinkOverlay{std::move(states)});
}

}  // namespace lockstep
