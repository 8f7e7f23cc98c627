#pragma once

#include "sim/execute/schedule/block_memory.hpp"
#include "sim/execute/schedule/host_memory.hpp"
#include "sim/execute/schedule/pool.hpp"

namespace lockstep {

/// Blocks of a HostMemory, modified in place.
class FloatBlocks final : public BlockMemory {
 public:
  /// Throws InternalError if `memory` does not fit the schedule. Both must outlive this object.
  FloatBlocks(const Schedule& schedule, HostMemory& memory);

  [[nodiscard]] Payload read(int rank, std::span<const Chunk> runs) override;
  [[nodiscard]] std::optional<std::string> write(const ScheduleStepIndex& place,
                                                 std::span<const Chunk> runs,
                                                 const Payload& payload, Combine combine) override;

 private:
  const Schedule& schedule_;
  HostMemory& memory_;
  FreeList payloads_;
};

}  // namespace lockstep
