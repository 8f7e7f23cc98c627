#pragma once

#include <utility>

#include "sim/execute/schedule/block_memory.hpp"
#include "sim/execute/schedule/pool.hpp"

namespace lockstep {

/// Applies one execution to two memories. A write rejected by the first is not applied to the
/// second.
class PairedBlocks final : public BlockMemory {
 public:
  /// Both must outlive this.
  PairedBlocks(BlockMemory& first, BlockMemory& second) : first_{first}, second_{second} {}

  [[nodiscard]] Payload read(int rank, std::span<const Chunk> runs) override {
    return std::allocate_shared<Pair>(FreeListAllocator<Pair>{pairs_}, first_.read(rank, runs),
                                      second_.read(rank, runs));
  }
  [[nodiscard]] std::optional<std::string> write(const ScheduleStepIndex& place,
                                                 std::span<const Chunk> runs,
                                                 const Payload& payload, Combine combine) override {
    const Pair& pair = *static_cast<const Pair*>(payload.get());
    if (auto mistake = first_.write(place, runs, pair.first, combine)) return mistake;
    return second_.write(place, runs, pair.second, combine);
  }

 private:
  using Pair = std::pair<Payload, Payload>;

  BlockMemory& first_;
  BlockMemory& second_;
  FreeList pairs_;
};

}  // namespace lockstep
