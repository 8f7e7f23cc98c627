#pragma once

#include <cstdint>

#include "sim/execute/program/execution_state.hpp"

namespace lockstep::execution {

/// What an order of execution has done to values.
class OperationRunner {
 public:
  virtual ~OperationRunner() = default;

  /// Gives others what they get of it: members of its collective, who receives its message. What it
  /// reads must not change until it has ended.
  virtual void begin(RankCursor& cursor, std::uint32_t operation) = 0;
  /// Computes what it writes; false where something of it comes from others who have not begun.
  [[nodiscard]] virtual bool end(RankCursor& cursor, std::uint32_t operation) = 0;
  /// Gives an instance room, full of NaN; returns its elements.
  [[nodiscard]] virtual std::int64_t allocate(RankCursor& cursor, std::uint32_t instance) = 0;
  /// Of the room that an instance has.
  [[nodiscard]] virtual std::int64_t elements(const RankCursor& cursor,
                                              std::uint32_t instance) const = 0;
  virtual void release(RankCursor& cursor, std::uint32_t instance) = 0;
};

}  // namespace lockstep::execution
