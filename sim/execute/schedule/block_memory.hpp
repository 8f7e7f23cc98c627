#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// What the blocks of all ranks hold while a schedule is executed: numbers, or symbols for them.
/// Runs of blocks lie within their buffers, and those of a message are equally long at both ends.
class BlockMemory {
 public:
  /// What a message carries, in a form that the memory alone knows. It does not change any more,
  /// and must not outlive the memory.
  using Payload = std::shared_ptr<const void>;

  BlockMemory() = default;
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;
  virtual ~BlockMemory() = default;

  [[nodiscard]] virtual Payload read(int rank, std::span<const Chunk> runs) = 0;
  /// What makes the write a mistake, as the end of a sentence that begins with the step's name
  /// ("counts rank 2's chunk 7 twice ..."); nothing where all is well.
  [[nodiscard]] virtual std::optional<std::string> write(const ScheduleStepIndex& place,
                                                         std::span<const Chunk> runs,
                                                         const Payload& payload,
                                                         Combine combine) = 0;
};

}  // namespace lockstep
