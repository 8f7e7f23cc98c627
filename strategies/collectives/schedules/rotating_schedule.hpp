#pragma once

#include "sim/schedule/schedule_traits.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

namespace lockstep {

/// n ranks round a cycle, in blocks of `block` neighbours that all do alike: who walks the schedule
/// need look at the first block alone.
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
