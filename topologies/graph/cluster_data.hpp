#pragma once

#include <string>
#include <vector>

#include "topologies/graph/blueprint.hpp"
#include "topologies/graph/cluster.hpp"

/// Representation of a Cluster. Internal.
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

/// Vertices: node by node in the node's order, then plane by plane. Links: node by node, then per
/// plane the host links (terminal t: up 2t, down 2t+1), then the links between switches. With
/// several copies and node_ends, copies lack the last ranks of the node, with their NICs and CPUs.
struct ClusterData {
  NodeBlueprint node;
  int copies = 1;                   // of the node, including extra hosts
  int rank_count = 0;               // endpoints that are ranks
  int auxiliary_count = 0;          // further endpoints
  int direct_nodes = 1;             // nodes inside the single copy
  int gpus_per_node = 1;            // as Cluster::gpus_per_node()
  std::vector<int> node_ends{};     // per node, one past its last rank; empty: all are equal
  bool names_of_node = false;       // vertex names are those within a node
  std::vector<VertexId> gpus;       // of the node, in order
  std::vector<VertexId> cpus;       // of the node, in order: location of auxiliary ranks
  std::vector<VertexId> terminals;  // of the node: connected to the fabric
  LinkTable links;                  // of the node

  int planes = 0;  // 0: no fabric
  bool rail_first = false;
  FabricBlueprint fabric;
  std::string transport = "infiniband";  // of the NICs
  Duration transport_latency{};
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
  /// Single GPUs on a fabric: a node consists of one vertex.
  [[nodiscard]] bool single_gpus() const { return planes != 0 && node_vertices() == 1; }
  /// Whether some copies lack their last ranks.
  [[nodiscard]] bool has_unequal_copies() const { return copies > 1 && !node_ends.empty(); }
  /// Of a copy, or one past the last; copies of nodes with several GPUs.
  [[nodiscard]] std::size_t first_rank(std::size_t copy) const {
    if (!has_unequal_copies()) return copy * gpus.size();
    return copy == 0 ? 0 : static_cast<std::size_t>(node_ends[copy - 1]);
  }
  /// Whether a copy lacks this vertex of the node.
  [[nodiscard]] bool is_absent(std::size_t copy, VertexId of_node) const;
};

/// Location of an endpoint: its copy of the node, and its index there (GPUs, then CPUs).
struct EndpointPlace {
  std::size_t copy = 0;
  std::size_t place = 0;
};
[[nodiscard]] EndpointPlace place_of(const ClusterData& data, EndpointId endpoint);

/// A cluster that consists of a single graph; GPUs need not come first.
[[nodiscard]] Cluster cluster_of(std::unique_ptr<Graph> graph);

}  // namespace lockstep
