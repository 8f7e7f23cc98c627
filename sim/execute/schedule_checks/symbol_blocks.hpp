#pragma once

#include <vector>

#include "sim/execute/schedule/block_memory.hpp"
#include "sim/execute/schedule/pool.hpp"
#include "sim/execute/schedule_checks/contributions.hpp"
#include "sim/schedule/contract.hpp"

namespace lockstep {

/// Blocks that contain sets of contributions instead of numbers. Ranks start with the contract's
/// data, auxiliary ranks with zeros; everything else is uninitialized. A reduction that duplicates
/// a contribution, adds different blocks of the message, or reads an uninitialized block is an
/// error.
class SymbolBlocks final : public BlockMemory {
 public:
  /// All arguments must outlive this object.
  SymbolBlocks(const Schedule& schedule, const Contract& contract, ContributionSets& sets);

  [[nodiscard]] Payload read(int rank, std::span<const Chunk> runs) override;
  [[nodiscard]] std::optional<std::string> write(const ScheduleStepIndex& place,
                                                 std::span<const Chunk> runs,
                                                 const Payload& payload, Combine combine) override;

  [[nodiscard]] const Contributions& at(int rank, Buffer buffer, std::int64_t block) const;
  /// The block of the erroneous write.
  [[nodiscard]] const std::optional<Chunk>& mistaken() const { return mistaken_; }

 private:
  using Blocks = std::vector<Contributions>;
  static constexpr std::size_t kBuffers = 3;

  [[nodiscard]] Blocks& buffer(int rank, Buffer buffer);
  [[nodiscard]] std::optional<std::string> reduce(Chunk at, Contributions& into,
                                                  const Contributions& arrived);
  [[nodiscard]] std::string mistake(Chunk at, const std::string& what);

  const Schedule& schedule_;
  ContributionSets& sets_;
  std::vector<Blocks> buffers_;  // rank * kBuffers + buffer; unused ones are empty
  std::optional<Chunk> mistaken_;
  FreeList payloads_;
};

}  // namespace lockstep
