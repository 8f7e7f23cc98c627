#include "topologies/routing/lower.hpp"

#include "topologies/graph/cluster_data.hpp"

namespace lockstep {
namespace {

bool is_port_side(VertexKind kind) {
  return holds_a_rank(kind) || kind == VertexKind::nic;
}

std::vector<Link> node_links(const ClusterData& data) {
  std::vector<Link> links;
  const Graph& graph = *data.node.graph;
  for (std::size_t id = 0; id < data.links.size(); ++id) {
    const ClusterLink& link = data.links[id];
    links.push_back({link.figures.carried(), link.figures.latency,
                     is_port_side(graph[link.from].kind) || is_port_side(graph[link.to].kind)});
  }
  return links;
}

std::vector<Link> plane_links(const ClusterData& data) {
  const LinkFigures& host = data.fabric.host_link;
  std::vector<Link> links(data.host_links(), Link{host.carried(), host.latency, true});
  for (std::size_t id = 0; id < data.switch_links.size(); ++id) {
    const LinkFigures& figures = data.switch_links[id].figures;
    links.push_back({figures.carried(), figures.latency, false});
  }
  return links;
}

void repeat(std::vector<Link>& all, const std::vector<Link>& part, int times) {
  for (int i = 0; i < times; ++i) all.insert(all.end(), part.begin(), part.end());
}

}  // namespace

Network lower(const Cluster& cluster, const Endpoint& endpoint, RoutePolicy policy,
              std::uint64_t seed) {
  const ClusterData& data = cluster.data();
  Network network;
  network.links.reserve(cluster.link_count());
  repeat(network.links, node_links(data), data.copies);
  if (data.planes != 0) repeat(network.links, plane_links(data), data.planes);
  for (const LinkState& state : cluster.overlay().all()) {
    network.links[state.id].bandwidth = state.figures.carried();
    network.links[state.id].latency = state.figures.latency;
  }
  network.endpoints.assign(static_cast<std::size_t>(cluster.endpoints()), endpoint);
  network.router = make_router(cluster, policy, seed);
  return network;
}

}  // namespace lockstep
