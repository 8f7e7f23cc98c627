#pragma once

#include <optional>
#include <vector>

#include "sim/network/block_router.hpp"
#include "topologies/graph/cluster_data.hpp"

namespace lockstep {

/// Interchangeable blocks of consecutive nodes in the original cluster: single nodes if all are
/// connected to one switch, else the nodes below one of the subtrees that remain without the
/// fabric's top switches (a leaf under spines, a pod under cores). Permuting blocks permutes routes
/// split over all best paths. Internal.
class NodeBlocks {
 public:
  /// None unless there are at least two such blocks, all equal. `data` must outlive the result.
  [[nodiscard]] static std::optional<NodeBlocks> find(const ClusterData& data);

  /// Ranks of a block.
  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  [[nodiscard]] std::optional<BlockLink> place_of(LinkId link) const;
  [[nodiscard]] LinkId link_at(const BlockLink& place) const;
  /// As BlockRouter::neighbors().
  [[nodiscard]] std::size_t neighbors(LinkId link) const;

  /// Nodes of a block.
  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  /// A switch of a plane relative to its block; none if it is in no block.
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
  /// Links between switches of a plane within blocks: equally many per block, in corresponding
  /// order.
  std::vector<std::vector<LinkId>> switch_links_;
  struct Number {
    std::uint32_t block = UINT32_MAX;
    std::uint32_t number = 0;  // index in switch_links_[block]
  };
  std::vector<SwitchPlace> switches_;  // of a plane; UINT32_MAX as block: none
  std::vector<Number> number_;         // per link between switches of a plane
};

}  // namespace lockstep
