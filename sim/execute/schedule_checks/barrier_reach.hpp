#pragma once

#include <cstdint>
#include <vector>

#include "sim/execute/schedule/block_memory.hpp"

namespace lockstep {

/// Tracks, instead of blocks, which ranks' arrival each rank knows of, directly or indirectly: the
/// condition of a barrier. Every message counts, also empty ones.
class BarrierReach final : public BlockMemory {
 public:
  explicit BarrierReach(int ranks);

  [[nodiscard]] Payload read(int rank, std::span<const Chunk> runs) override;
  [[nodiscard]] std::optional<std::string> write(const ScheduleStepIndex& place,
                                                 std::span<const Chunk> runs,
                                                 const Payload& payload, Combine combine) override;

  [[nodiscard]] bool has(int rank, int other) const;

 private:
  using Set = std::vector<std::uint64_t>;  // one bit per rank

  std::vector<Set> known_;
};

}  // namespace lockstep
