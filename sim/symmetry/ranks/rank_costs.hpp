#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/symmetry/partition/block_symmetry.hpp"
#include "sim/symmetry/partition/relations.hpp"

namespace lockstep::fold {

/// Pairs by receiver.
struct ReceivedPairs {
  std::vector<std::uint32_t> first;  // per member, and one more
  std::vector<std::uint32_t> pairs;

  explicit ReceivedPairs(const Relations& relations);
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t member) const {
    return std::span{pairs}.subspan(first[member], first[member + 1] - first[member]);
  }
};

/// Block of the image of block `b` under the move that maps block 0 to `to`; 0 without moves.
[[nodiscard]] inline std::uint32_t moved_block(const std::optional<BlockMoves>& moves,
                                               std::uint32_t to, std::uint32_t b) {
  if (!moves) return 0;
  if (moves->kind == BlockMoves::Kind::exclusive_or) return b ^ to;
  const auto blocks = static_cast<std::uint32_t>(moves->blocks);
  return b < blocks - to ? b + to : b - (blocks - to);
}

/// Rates of the transfers of all members where no two can limit each other.
///
/// Rests on monotony (sim/network/maxmin/README.md): on every link the rates that transfers have
/// alone sum to at most its capacity, at any time. A member that has one transfer at a time adds
/// the fastest of those that cross the link, any other member all of them; senders are counted, or
/// receivers. Neither starts nor what endpoints take affect that. Where `symmetry` is given,
/// members are those of block 0, and the bandwidths of links may differ between blocks.
class RankCosts {
 public:
  /// The rate of a pair in one copy that is not that in most.
  struct OddRate {
    std::uint32_t copy = 0;  // block of the sender
    std::uint64_t alone = 0;
  };

  /// Empty if two transfers may limit each other.
  [[nodiscard]] static std::optional<RankCosts> find(const Relations& relations,
                                                     const ReceivedPairs& received,
                                                     const Network& network, NetworkModel model,
                                                     const BlockSymmetry* symmetry);

  /// Rate without contention in rate steps; 0: no links, only latency.
  [[nodiscard]] std::uint64_t alone(std::uint32_t pair) const { return alone_[pair]; }
  /// By copy.
  [[nodiscard]] std::span<const OddRate> odd(std::uint32_t pair) const {
    if (first_odd_.empty()) return {};
    return std::span{odd_}.subspan(first_odd_[pair], first_odd_[pair + 1] - first_odd_[pair]);
  }

 private:
  friend class RankCostsFinder;
  std::vector<std::uint64_t> alone_;    // per pair
  std::vector<std::size_t> first_odd_;  // per pair, and one more; empty: none is odd
  std::vector<OddRate> odd_;
};

}  // namespace lockstep::fold
