#pragma once

#include <optional>
#include <vector>

#include "sim/network/block_router.hpp"
#include "topologies/graph/cluster_data.hpp"

namespace lockstep {

/// Blocks of consecutive nodes that nothing in a cluster as it was built distinguishes: single
/// nodes where all are cabled to one switch, else those below one of the trees that are left of the
/// fabric without its top switches (a leaf's where there are spines, a pod's where there are
/// cores). Routes that are split over all best paths move with the blocks. Internal.
class NodeBlocks {
 public:
  /// None where there are not at least two such blocks, or they are not equal. `data` must outlive
  /// the result.
  [[nodiscard]] static std::optional<NodeBlocks> find(const ClusterData& data);

  /// Ranks of a block.
  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  [[nodiscard]] std::optional<BlockLink> place_of(LinkId link) const;
  [[nodiscard]] LinkId link_at(const BlockLink& place) const;

  /// Nodes of a block.
  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  /// A switch of a plane as one of its block's; none for one that is in none.
  struct SwitchPlace {
    std::uint32_t block = 0;
    std::size_t turn = 0;
  };
  [[nodiscard]] std::optional<SwitchPlace> switch_place(VertexId of_plane) const;

 private:
  NodeBlocks(const ClusterData& data, std::size_t nodes);
  bool match_links(const std::vector<std::uint32_t>& tree_of);
  [[nodiscard]] std::size_t terminals_per_node() const {
    return data_->plane_terminals.front().size();
  }

  const ClusterData* data_;
  std::size_t nodes_;  // of a block
  std::uint32_t ranks_ = 0;
  /// Links between switches of a plane that are in a block: per block as many, in equal order.
  std::vector<std::vector<LinkId>> switch_links_;
  struct Number {
    std::uint32_t block = UINT32_MAX;
    std::uint32_t number = 0;  // in switch_links_[block]
  };
  std::vector<SwitchPlace> switches_;  // of a plane; UINT32_MAX as block: none
  std::vector<Number> number_;         // per link between switches of a plane
};

}  // namespace lockstep
