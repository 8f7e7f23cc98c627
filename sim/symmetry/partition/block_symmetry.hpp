#pragma once

#include <optional>

#include "sim/engine/replay.hpp"
#include "sim/network/block_router.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep::fold {

/// Blocks of ranks of a workload's one call that neither its schedule nor the network
/// distinguishes.
class BlockSymmetry {
 public:
  /// None where there are no such blocks: several calls, ranks that do not sit at the end points in
  /// order, links, end points or starts that differ between blocks, or a schedule or a router that
  /// has none.
  [[nodiscard]] static std::optional<BlockSymmetry> find(const Network& network,
                                                         const Workload& workload);

  [[nodiscard]] const BlockMoves& moves() const { return moves_; }
  /// In blocks of these moves, which may be several of the router's.
  [[nodiscard]] BlockLink place_of(LinkId link) const;

 private:
  BlockSymmetry(const BlockMoves& moves, const BlockRouter& router);
  [[nodiscard]] bool links_are_alike(const Network& network) const;

  BlockMoves moves_;
  const BlockRouter* router_;
  std::uint32_t router_blocks_;  // in one of these
};

/// Gives every link what the one of block 0 in its place has.
void spread_over_blocks(const Network& network, const BlockMoves& moves, std::vector<Bytes>& bytes);

}  // namespace lockstep::fold
