#pragma once

#include "sim/schedule/schedule_traits.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

namespace lockstep {

/// Schedules with rotational symmetry: n ranks in blocks of `block` neighbors, where all blocks
/// behave equally, so that only the first block need be examined.
class RotatingSchedule : public BlockSchedule, public SymmetricSchedule {
 public:
  [[nodiscard]] std::optional<BlockMoves> moves() const override {
    if (n() % block_ != 0) return std::nullopt;
    return BlockMoves{BlockMoves::Kind::rotation, block_, n() / block_};
  }

 protected:
  explicit RotatingSchedule(int n, int block = 1) : BlockSchedule(n), block_{block} {}
  RotatingSchedule(int n, std::int64_t blocks, int block)
      : BlockSchedule(n, blocks), block_{block} {}

 private:
  int block_;
};

}  // namespace lockstep
