#pragma once

#include <cstdint>

#include "sim/execute/program/execution_state.hpp"

namespace lockstep::execution {

/// Effects of an execution order on values.
class OperationRunner {
 public:
  virtual ~OperationRunner() = default;

  /// Provides data to other ranks: members of its collective, or the receiver of its message. Its
  /// inputs must not change until it ends.
  virtual void begin(RankCursor& cursor, std::uint32_t operation) = 0;
  /// Computes its results; false if data is missing from ranks that have not begun.
  [[nodiscard]] virtual bool end(RankCursor& cursor, std::uint32_t operation) = 0;
  /// Allocates an instance filled with NaN; returns its elements.
  [[nodiscard]] virtual std::int64_t allocate(RankCursor& cursor, std::uint32_t instance) = 0;
  /// Elements of an allocated instance.
  [[nodiscard]] virtual std::int64_t elements(const RankCursor& cursor,
                                              std::uint32_t instance) const = 0;
  virtual void release(RankCursor& cursor, std::uint32_t instance) = 0;
};

}  // namespace lockstep::execution
