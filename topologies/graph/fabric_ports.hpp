#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "topologies/graph/cluster_data.hpp"

namespace lockstep {

/// Terminals of the nodes in the planes of the fabric, and their links to switches. A terminal is
/// identified by its index in ClusterData::terminals and the copy of the node. Internal.
class FabricPorts {
 public:
  /// `data` must outlive this object.
  explicit FabricPorts(const ClusterData& data);

  [[nodiscard]] std::size_t plane(std::size_t terminal) const { return plane_[terminal]; }
  /// The switch it is connected to, as a vertex of its plane.
  [[nodiscard]] VertexId leaf(std::size_t copy, std::size_t terminal) const {
    return data_->fabric.switch_of[number(copy, terminal)];
  }
  [[nodiscard]] LinkId up(std::size_t copy, std::size_t terminal) const {
    return first_link(plane(terminal)) + static_cast<LinkId>(2 * number(copy, terminal));
  }
  [[nodiscard]] LinkId down(std::size_t copy, std::size_t terminal) const {
    return up(copy, terminal) + 1;
  }
  /// The owner of a host link; empty for other links.
  struct HostLink {
    std::size_t copy = 0;
    std::size_t terminal = 0;
    bool up = false;
  };
  [[nodiscard]] std::optional<HostLink> find(LinkId link) const;
  /// The first link between switches of a plane.
  [[nodiscard]] LinkId first_switch_link(std::size_t plane) const {
    return first_link(plane) + static_cast<LinkId>(data_->host_links());
  }

 private:
  /// Index among the terminals of its plane.
  [[nodiscard]] std::size_t number(std::size_t copy, std::size_t terminal) const {
    return copy * data_->plane_terminals[plane(terminal)].size() + turn_[terminal];
  }
  [[nodiscard]] LinkId first_link(std::size_t plane) const {
    return static_cast<LinkId>(data_->first_plane_link() + plane * data_->plane_links());
  }

  const ClusterData* data_;
  std::vector<std::size_t> plane_;  // per terminal
  std::vector<std::size_t> turn_;   // index among the node's terminals on that plane
};

}  // namespace lockstep
