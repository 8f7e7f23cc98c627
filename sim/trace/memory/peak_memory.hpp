#pragma once

#include <vector>

#include "sim/program/timeline.hpp"

/// The peak of the memory account (memory.hpp) on its own: bytes, without curve or tensors.
namespace lockstep {

/// The most that a rank holds at once on its device: the total of MemoryAccount::device.peak.held.
/// Errors: InternalError where role and rank differ in length.
[[nodiscard]] Bytes peak_memory(const RoleProgram& role, const RankTimeline& rank);

/// A part of a step.
struct MemoryPeriod {
  TimePoint from;
  TimePoint to;
  std::vector<bool> throughout{};  // per instance of the role: held all the time
};
/// The most that it holds at once from `from` to `to`.
/// Errors: also where role and `throughout` differ in length.
[[nodiscard]] Bytes peak_memory_in(const RoleProgram& role, const RankTimeline& rank,
                                   const MemoryPeriod& period);

/// The same where the operations run one after the other, in the order in which they are launched.
/// Takes O(n) for n operations.
[[nodiscard]] Bytes peak_memory_in_order(const RoleProgram& role);

}  // namespace lockstep
