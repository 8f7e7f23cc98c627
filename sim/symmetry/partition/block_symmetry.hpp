#pragma once

#include <optional>

#include "sim/engine/replay.hpp"
#include "sim/network/block_router.hpp"
#include "sim/schedule/schedule_traits.hpp"

namespace lockstep::fold {

/// Whether messages, reductions and copies take the same at both.
[[nodiscard]] inline bool are_equivalent(const Endpoint& a, const Endpoint& b) {
  return a.message_overhead == b.message_overhead && a.reduce_rate == b.reduce_rate &&
         a.copy_rate == b.copy_rate;
}

/// Equal blocks of ranks of a workload's only call that neither its schedule nor the network
/// distinguishes.
class BlockSymmetry {
 public:
  /// None with several calls, ranks not placed at the endpoints in order, links, endpoints or
  /// starts that differ between blocks, or a schedule or router without block symmetry.
  [[nodiscard]] static std::optional<BlockSymmetry> find(const Network& network,
                                                         const Workload& workload);
  /// The same, but endpoints, starts and the bandwidths of links may differ between blocks, and
  /// blocks may have links together: the smallest blocks that schedule and network allow.
  [[nodiscard]] static std::optional<BlockSymmetry> find_of_routes(const Network& network,
                                                                   const Workload& workload);

  [[nodiscard]] const BlockMoves& moves() const { return moves_; }
  /// In blocks of these moves; one may contain several of the router's. Blocks that have links
  /// together are found by find_of_routes() only.
  [[nodiscard]] BlockLink place_of(LinkId link) const;
  /// The link of that block which corresponds to one of block 0.
  [[nodiscard]] LinkId link_in(std::uint32_t block, LinkId first) const;
  /// Copies the bytes of every link of block 0 to the corresponding links of the other blocks.
  void spread(std::vector<Bytes>& bytes) const;

 private:
  BlockSymmetry(const BlockMoves& moves, const BlockRouter& router, bool nested);
  static std::optional<BlockSymmetry> find_nested(const Network& network,
                                                  const CollectiveCall& call);
  [[nodiscard]] bool links_are_alike(const Network& network, bool bandwidths) const;
  [[nodiscard]] std::size_t neighbors(LinkId link) const;
  [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(moves_.block); }

  BlockMoves moves_;
  const BlockRouter* router_;
  bool nested_;                  // by exclusive or of blocks in blocks of the router's
  std::uint32_t router_blocks_;  // in one of these, unless nested
};

}  // namespace lockstep::fold
