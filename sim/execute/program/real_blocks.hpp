#pragma once

#include <array>
#include <vector>

#include "sim/execute/schedule/block_memory.hpp"
#include "sim/program/operation.hpp"

namespace lockstep {

/// Buffers of a schedule's ranks in float or double. Output and scratch are initially NaN.
template <class Real>
class RealBlocks final : public BlockMemory {
 public:
  RealBlocks(const Schedule& schedule, std::int64_t block_elements, Reduction reduction);

  /// A rank's whole buffer.
  [[nodiscard]] std::vector<Real>& buffer(int rank, Buffer which);

  [[nodiscard]] Payload read(int rank, std::span<const Chunk> runs) override;
  [[nodiscard]] std::optional<std::string> write(const ScheduleStepIndex& place,
                                                 std::span<const Chunk> runs,
                                                 const Payload& payload, Combine combine) override;

 private:
  std::int64_t block_elements_;
  Reduction reduction_;
  std::vector<std::array<std::vector<Real>, 3>> ranks_{};
};

}  // namespace lockstep
