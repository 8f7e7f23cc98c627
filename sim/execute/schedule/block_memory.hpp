#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Contents of all ranks' blocks during an execution: numbers, or symbols for them. Runs of blocks
/// lie within their buffers, and both ends of a message have equal length.
class BlockMemory {
 public:
  /// Contents of a message, in a representation private to the memory. Immutable; must not outlive
  /// the memory.
  using Payload = std::shared_ptr<const void>;

  BlockMemory() = default;
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;
  virtual ~BlockMemory() = default;

  [[nodiscard]] virtual Payload read(int rank, std::span<const Chunk> runs) = 0;
  /// Why the write is wrong, as the end of a sentence that starts with the step's name ("counts
  /// rank 2's chunk 7 twice ..."); none if it is correct.
  [[nodiscard]] virtual std::optional<std::string> write(const ScheduleStepIndex& place,
                                                         std::span<const Chunk> runs,
                                                         const Payload& payload,
                                                         Combine combine) = 0;
};

}  // namespace lockstep
