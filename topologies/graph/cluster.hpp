#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "topologies/graph/elements.hpp"
#include "topologies/graph/link_overlay.hpp"

/// A cluster: equal copies of one node, connected by a fabric of equal planes of switches. Vertex
/// and link ids are contiguous per node and per plane, so nothing is stored per node.
namespace lockstep {

struct ClusterData;

inline constexpr int kMostNodes = 1 << 20;
inline constexpr int kMostRanks = 1 << 24;

/// Requested size of a cluster; absent values come from the cluster's file.
struct ClusterSize {
  std::optional<int> nodes;
  std::optional<int> ranks;
  int extra_hosts = 0;  // endpoints without GPUs, numbered after all ranks
};

/// Immutable and cheap to copy.
class Cluster {
 public:
  explicit Cluster(std::shared_ptr<const ClusterData> data) : data_{std::move(data)} {}
  /// The same cluster with other states of some links.
  [[nodiscard]] Cluster with(LinkOverlay overlay) const;

  [[nodiscard]] int nodes() const;
  [[nodiscard]] int gpus_per_node() const;
  /// Dimensions of a ring or torus, the first varying fastest; empty for other topologies.
  [[nodiscard]] std::vector<int> dimensions() const;
  /// Endpoints 0 .. ranks()-1 are GPUs, node by node.
  [[nodiscard]] int ranks() const;
  /// Further endpoints, from id ranks() on: extra hosts if requested, else the CPU sockets, node by
  /// node.
  [[nodiscard]] int auxiliary_ranks() const;
  [[nodiscard]] int endpoints() const { return ranks() + auxiliary_ranks(); }
  [[nodiscard]] VertexId vertex_of(EndpointId endpoint) const;

  [[nodiscard]] std::size_t vertex_count() const;
  [[nodiscard]] std::size_t link_count() const;
  [[nodiscard]] Vertex vertex(VertexId id) const;
  /// "node0/gpu3", "rail2/leaf5", "gpu7", or the file's name.
  [[nodiscard]] std::string vertex_name(VertexId id) const;
  /// Current state; a failed link has the lowest bandwidth that Rate can express.
  [[nodiscard]] ClusterLink link(LinkId id) const;
  /// State before any change.
  [[nodiscard]] ClusterLink built_link(LinkId id) const;
  [[nodiscard]] bool has_failed(LinkId id) const;
  /// "node0/gpu3 -> node0/nvswitch0".
  [[nodiscard]] std::string link_name(LinkId id) const;

  [[nodiscard]] const LinkOverlay& overlay() const { return *overlay_; }
  [[nodiscard]] const ClusterData& data() const { return *data_; }
  [[nodiscard]] const std::shared_ptr<const ClusterData>& shared() const { return data_; }

 private:
  std::shared_ptr<const ClusterData> data_;
  std::shared_ptr<const LinkOverlay> overlay_ = std::make_shared<LinkOverlay>();
};

/// The same vertices and links as one graph without nodes, planes and rails, with end-to-end route
/// search: a reference for structured algorithms. All GPUs are ranks.
[[nodiscard]] Cluster flattened(const Cluster& cluster);

}  // namespace lockstep
