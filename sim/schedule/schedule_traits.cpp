#include "sim/schedule/schedule_traits.hpp"

#include <bit>
#include <numeric>

namespace lockstep {

std::optional<BlockMoves> coarser(const BlockMoves& moves, int unit) {
  const std::int64_t block = std::lcm<std::int64_t>(moves.block, unit);
  const std::int64_t ranks = std::int64_t{moves.block} * moves.blocks;
  if (block == 0 || ranks % block != 0 || ranks == block) return std::nullopt;
  BlockMoves out{moves.kind, static_cast<int>(block), static_cast<int>(ranks / block)};
  // Exclusive or of whole numbers of blocks is one of longer blocks where those are 2^k as long.
  const auto longer = static_cast<std::uint64_t>(block / moves.block);
  if (moves.kind == BlockMoves::Kind::exclusive_or && !std::has_single_bit(longer))
    return std::nullopt;
  return out;
}

std::optional<BlockMoves> moves_of(const Schedule& schedule) {
  const auto* symmetric = dynamic_cast<const SymmetricSchedule*>(&schedule);
  return symmetric == nullptr ? std::nullopt : symmetric->moves();
}

std::int64_t first_step(const Schedule& schedule, int rank, int lane) {
  const auto* late = dynamic_cast<const LateSchedule*>(&schedule);
  return late == nullptr ? 0 : late->first_step(rank, lane);
}

}  // namespace lockstep
