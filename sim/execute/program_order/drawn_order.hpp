#pragma once

#include <cstdint>
#include <vector>

#include "sim/execute/program/operation_runner.hpp"

namespace lockstep::execution {

/// Interleaves the operations of all ranks and streams in a random order drawn from a seed, subject
/// only to the program's dependencies.
class DrawnOrder {
 public:
  DrawnOrder(ExecutionState& state, OperationRunner& runner, std::uint64_t seed);

  /// Executes one step. Throws ExecutionError with the wait cycle on a deadlock.
  void run();

 private:
  struct Lane {
    RankCursor* cursor = nullptr;
    std::size_t stream = 0;
  };

  [[nodiscard]] std::int64_t sweep(bool patient);
  [[nodiscard]] bool advance(const Lane& lane);
  [[nodiscard]] bool may_begin(const RankCursor& cursor, std::uint32_t operation) const;

  ExecutionState& state_;
  OperationRunner& runner_;
  std::vector<Lane> lanes_{};
  std::uint64_t draws_;
};

}  // namespace lockstep::execution
