#pragma once

#include <vector>

#include "topologies/graph/blueprint.hpp"
#include "topologies/graph/cluster.hpp"

/// What is behind a Cluster. Internal.
namespace lockstep {

/// A graph's links by their id.
class LinkTable {
 public:
  LinkTable() = default;
  explicit LinkTable(const Graph& graph);
  [[nodiscard]] std::size_t size() const { return links_.size(); }
  [[nodiscard]] const ClusterLink& operator[](std::size_t id) const { return links_[id]; }

 private:
  std::vector<ClusterLink> links_;
};

/// Vertices: node by node as in the template, then plane by plane. Links: node by node, then per
/// plane the host links (terminal t up 2t, down 2t+1), then the links between switches.
struct ClusterData {
  NodeBlueprint node;
  int copies = 1;                   // of the node, extra hosts included
  int rank_count = 0;               // end points that are ranks
  int auxiliary_count = 0;          // further end points
  int direct_nodes = 1;             // nodes that the one copy itself is made of
  int gpus_per_node = 1;            // as Cluster::gpus_per_node()
  std::vector<int> node_ends{};     // per node the rank after its last; empty: all are equal
  bool names_of_node = false;       // vertices' names are those within a node
  std::vector<VertexId> gpus;       // of the node, in order
  std::vector<VertexId> cpus;       // of the node, in order: the auxiliary ranks' places
  std::vector<VertexId> terminals;  // of the node: what the fabric is cabled to
  LinkTable links;                  // of the node

  int planes = 0;  // 0: no fabric
  bool rail_first = false;
  FabricBlueprint fabric;
  std::vector<std::vector<VertexId>> plane_terminals;  // per plane: of the node
  LinkTable switch_links;                              // of a plane

  [[nodiscard]] std::size_t node_vertices() const { return vertex_count(*node.graph); }
  [[nodiscard]] std::size_t node_links() const { return links.size(); }
  [[nodiscard]] std::size_t plane_vertices() const { return vertex_count(*fabric.plane); }
  [[nodiscard]] std::size_t host_links() const { return 2 * fabric.switch_of.size(); }
  [[nodiscard]] std::size_t plane_links() const { return host_links() + switch_links.size(); }
  [[nodiscard]] std::size_t first_switch() const {
    return static_cast<std::size_t>(copies) * node_vertices();
  }
  [[nodiscard]] std::size_t first_plane_link() const {
    return static_cast<std::size_t>(copies) * node_links();
  }
  /// Single GPUs on a fabric: a node is one vertex.
  [[nodiscard]] bool single_gpus() const { return planes != 0 && node_vertices() == 1; }
};

/// Where an end point is: in which copy of the node, and at which of its places (GPUs, then CPUs).
struct EndpointPlace {
  std::size_t copy = 0;
  std::size_t place = 0;
};
[[nodiscard]] EndpointPlace place_of(const ClusterData& data, EndpointId endpoint);

/// A cluster made of one graph alone, such as a free-form one; GPUs need not come first.
[[nodiscard]] Cluster cluster_of(std::unique_ptr<Graph> graph);

}  // namespace lockstep
