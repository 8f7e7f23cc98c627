#include "topologies/graph/nodes.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "topologies/graph/cluster_data.hpp"

namespace lockstep {

bool has_equal_nodes(const Cluster& cluster) {
  return cluster.data().node_ends.empty();
}

int node_of(const Cluster& cluster, EndpointId rank) {
  LOCKSTEP_CHECK(rank < static_cast<EndpointId>(cluster.ranks()));
  const auto& ends = cluster.data().node_ends;
  if (ends.empty()) return static_cast<int>(rank) / cluster.gpus_per_node();
  return static_cast<int>(std::upper_bound(ends.begin(), ends.end(), static_cast<int>(rank)) -
                          ends.begin());
}

int first_rank_of_node(const Cluster& cluster, int node) {
  const auto& ends = cluster.data().node_ends;
  if (ends.empty()) return node * cluster.gpus_per_node();
  return node == 0 ? 0 : ends[static_cast<std::size_t>(node) - 1];
}

int ranks_of_node(const Cluster& cluster, int node) {
  LOCKSTEP_CHECK(0 <= node && node < cluster.nodes());
  const auto& ends = cluster.data().node_ends;
  if (ends.empty()) return std::min(cluster.gpus_per_node(), cluster.ranks());
  return ends[static_cast<std::size_t>(node)] - first_rank_of_node(cluster, node);
}

int smallest_node(const Cluster& cluster) {
  int fewest = ranks_of_node(cluster, 0);
  if (has_equal_nodes(cluster)) return fewest;
  for (int node = 1; node < cluster.nodes(); ++node)
    fewest = std::min(fewest, ranks_of_node(cluster, node));
  return fewest;
}

int largest_node(const Cluster& cluster) {
  int most = ranks_of_node(cluster, 0);
  if (has_equal_nodes(cluster)) return most;
  for (int node = 1; node < cluster.nodes(); ++node)
    most = std::max(most, ranks_of_node(cluster, node));
  return most;
}

int coherent_cpus(const Cluster& cluster) {
  const VertexId gpu = cluster.vertex_of(0);
  for (std::size_t i = 0; i < cluster.link_count(); ++i) {
    const ClusterLink link = cluster.link(static_cast<LinkId>(i));
    if (link.from == gpu && link.kind == LinkKind::cpu &&
        cluster.vertex(link.to).kind == VertexKind::cpu)
      return static_cast<int>(cluster.data().cpus.size());
  }
  return 0;
}

std::string node_sizes_text(const Cluster& cluster) {
  const std::string most = std::to_string(largest_node(cluster));
  return has_equal_nodes(cluster) ? most : std::to_string(smallest_node(cluster)) + " to " + most;
}

bool is_absent(const Cluster& cluster, VertexId vertex) {
  const ClusterData& data = cluster.data();
  const std::size_t vertices = data.node_vertices();
  return vertex < data.first_switch() &&
         data.is_absent(vertex / vertices, static_cast<VertexId>(vertex % vertices));
}

bool is_absent_link(const Cluster& cluster, LinkId link) {
  if (!cluster.data().has_unequal_copies()) return false;
  const ClusterLink built = cluster.built_link(link);
  return is_absent(cluster, built.from) || is_absent(cluster, built.to);
}

Duration transport_latency(const Cluster& cluster) {
  return cluster.data().transport_latency;
}

}  // namespace lockstep
