#pragma once

#include <optional>
#include <vector>

#include "sim/network/block_router.hpp"
#include "topologies/graph/cluster_data.hpp"

namespace lockstep {

/// Groups of nodes within groups in the original cluster: nodes, those below the same leaves, those
/// below the same spines, and so on; all groups of a level are equal. An exclusive or of the
/// numbers of nodes that maps groups to groups on every level permutes routes split over all best
/// paths. Internal.
class NestedBlocks {
 public:
  /// None without a fabric, or where groups of a level are not consecutive nodes and equal, switch
  /// by switch and link by link. `data` must outlive the result.
  [[nodiscard]] static std::optional<NestedBlocks> find(const ClusterData& data);

  /// Ranks of a node.
  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  /// Whether an exclusive or of `blocks` blocks of `nodes` nodes maps groups to groups.
  [[nodiscard]] bool may_exchange(std::size_t nodes, std::size_t blocks) const;
  /// By blocks of `nodes` nodes.
  [[nodiscard]] BlockLink place_of(LinkId link, std::size_t nodes) const;
  [[nodiscard]] LinkId link_at(const BlockLink& place, std::size_t nodes) const;
  /// As BlockRouter::neighbors().
  [[nodiscard]] std::size_t neighbors(LinkId link, std::size_t nodes) const;

 private:
  explicit NestedBlocks(const ClusterData& data);
  bool find_levels();
  bool match_switches();
  bool match_links();
  /// Links of each node, in the node or to its switches, and where they begin; none of others.
  struct OfNodes {
    LinkId first = 0;
    std::size_t links = 0;
  };
  [[nodiscard]] std::optional<OfNodes> of_nodes(LinkId link) const;
  [[nodiscard]] std::size_t between_switches(LinkId link) const;

  struct Level {
    std::size_t nodes = 0;  // of a group
    /// Links between switches by the lower one's group, in corresponding order.
    std::vector<std::vector<LinkId>> links{};
  };
  /// A switch, or a link of it, relative to its level.
  struct Place {
    std::uint32_t level = 0;
    std::uint32_t group = 0;
    std::uint32_t number = 0;  // in the group
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  const ClusterData* data_;
  std::uint32_t ranks_ = 0;
  std::size_t per_node_ = 0;     // terminals
  std::vector<Level> levels_;    // from the leaves up; the last one has one group
  std::vector<Place> switches_;  // of a plane
  std::vector<Place> links_;     // between switches of a plane
};

}  // namespace lockstep
