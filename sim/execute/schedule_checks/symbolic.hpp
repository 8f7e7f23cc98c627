#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/execute/schedule/execute.hpp"
#include "sim/schedule/contract.hpp"

/// Does a schedule keep its contract whatever the data? It is executed on sets of contributions in
/// place of numbers.
namespace lockstep {

struct SymbolicOptions {
  std::uint64_t seed = 1;
  std::optional<int> slots{};  // in place of the schedule's
  /// Other orders of execution are tried as long as all together cost no more than this, counted in
  /// transfers and, where messages are long, in sixteens of blocks.
  std::int64_t most_work = std::int64_t{1} << 22;
  /// Asked once where the first order was right, with its outcome: whether another might come to
  /// something else. If not, fewer are tried of a schedule with many messages. None: it might.
  std::function<bool(const ExecuteOutcome& outcome)> may_race{};
  /// Blocks that the execution in the first, plain order moves as well. Not of a barrier.
  BlockMemory* alongside = nullptr;
};

/// Blocks next to each other that are wrong and were last written by the same step: of all such
/// those that hold what does not belong there, else those that went wrong first.
struct WrongChunk {
  int rank = 0;
  Chunk chunk;
  std::string what;                            // "lacks rank 2's chunk 3"
  std::optional<ScheduleStepIndex> written{};  // none: as it was at the start
  std::string lost{};  // what became of the first that it lacks; empty: not known
};

struct SymbolicVerdict {
  ExecuteOutcome outcome;         // of the last order tried: all before it went well
  std::int64_t wrong_blocks = 0;  // in the end, of all ranks' results
  /// Where a step's write was a mistake by itself, what it wrote; else of the result.
  std::optional<WrongChunk> first_wrong;
  std::int64_t orders = 0;  // tried
  std::string order;        // the last, in words; empty for the plain one
  /// Of the plain order, where SymbolicOptions::alongside went through it to the end.
  std::optional<ExecuteOutcome> alongside{};

  [[nodiscard]] bool right() const { return outcome.finished() && !first_wrong; }
  /// Why not; empty where right().
  [[nodiscard]] std::string problem() const;
};

/// Contributions are (rank, block): a reduction unites sets that must be of the same block, have
/// nothing in common, and must not meet an uninitialized block; in the end every block of every
/// rank's result is what the contract says. Of a barrier: every rank has heard of every other.
[[nodiscard]] SymbolicVerdict check_symbols(const Schedule& schedule, const Contract& contract,
                                            const SymbolicOptions& options = {});

}  // namespace lockstep
