#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/execute/schedule/execute.hpp"
#include "sim/schedule/contract.hpp"

/// Symbolic verification: executes a schedule on sets of contributions, independent of data.
namespace lockstep {

struct SymbolicOptions {
  std::uint64_t seed = 1;
  std::optional<int> slots{};  // overrides the schedule's
  /// Budget for additional execution orders, in transfers plus, for long messages, sixteenths of
  /// blocks.
  std::int64_t most_work = std::int64_t{1} << 22;
  /// Called after a correct first execution with its outcome: whether another order may give
  /// another result. If not, fewer orders are tried for schedules with many messages. None: it may.
  std::function<bool(const ExecuteOutcome& outcome)> may_race{};
  /// A second memory for the first execution in the default order. Not for a barrier.
  BlockMemory* alongside = nullptr;
};

/// Adjacent wrong blocks last written by the same step: those with a foreign contribution, else
/// those that went wrong first.
struct WrongChunk {
  int rank = 0;
  Chunk chunk;
  std::string what;                            // "lacks rank 2's chunk 3"
  std::optional<ScheduleStepIndex> written{};  // none: initial contents
  std::string lost{};  // what happened to the first missing contribution; empty: unknown
};

struct SymbolicVerdict {
  ExecuteOutcome outcome;         // of the last order tried; all earlier ones succeeded
  std::int64_t wrong_blocks = 0;  // in all ranks' final results
  /// The erroneous write of a step, else the first wrong result.
  std::optional<WrongChunk> first_wrong;
  std::int64_t orders = 0;  // tried
  std::string order;        // the last, in words; empty for the default order
  /// Outcome of the default order if SymbolicOptions::alongside finished.
  std::optional<ExecuteOutcome> alongside{};

  [[nodiscard]] bool right() const { return outcome.finished() && !first_wrong; }
  /// Empty if right().
  [[nodiscard]] std::string problem() const;
};

/// Contributions are (rank, block). A reduction unites disjoint sets of the same block and must not
/// read an uninitialized block; finally every block of every rank's result must equal the
/// contract's. For a barrier, every rank must know of every other's arrival.
[[nodiscard]] SymbolicVerdict check_symbols(const Schedule& schedule, const Contract& contract,
                                            const SymbolicOptions& options = {});

}  // namespace lockstep
