#pragma once

#include "sim/execute/schedule/block_memory.hpp"

namespace lockstep {

/// Blocks without contents, for executions that only need the order of events.
class NoContent final : public BlockMemory {
 public:
  [[nodiscard]] Payload read(int, std::span<const Chunk>) override { return nullptr; }
  [[nodiscard]] std::optional<std::string> write(const ScheduleStepIndex&, std::span<const Chunk>,
                                                 const Payload&, Combine) override {
    return std::nullopt;
  }
};

}  // namespace lockstep
