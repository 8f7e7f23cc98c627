#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sim/execute/schedule/execute.hpp"
#include "sim/schedule/contract.hpp"

/// Numerical verification: executes a schedule on two kinds of data with known results.
namespace lockstep {

struct NumericOptions {
  std::uint64_t seed = 1;
  std::optional<int> slots{};  // overrides the schedule's
  /// Limit on elements of all buffers. Larger messages are checked with the same number of blocks
  /// of at most four elements, the last one partial if it was.
  std::int64_t most_floats = std::int64_t{1} << 26;
  /// Bits of the significand of the arithmetic, including the hidden one; at most 24.
  int significand = 24;
  /// Executes the transfers instead of the host executor; returns an error, or none. Unwritten
  /// memory that the schedule names is NaN, or empty, afterwards.
  std::function<std::optional<std::string>(const Schedule& schedule, HostMemory& memory)> run{};
};

struct WrongElement {
  int rank = 0;
  std::int64_t element = 0;  // index in the whole message
  double got = 0;
  double expected = 0;
  Chunk chunk{};                               // its block
  std::optional<ScheduleStepIndex> written{};  // last write; none: initial contents
};

struct NumericVerdict {
  std::int64_t count = 0;         // elements of the executed message
  bool reduced = false;           // count was reduced
  bool too_large = false;         // exceeds the limit with one element per block: not executed
  std::int64_t wrong = 0;         // over all ranks, in the first pass or merely copied
  std::int64_t out_of_bound = 0;  // second pass: error above n * eps * sum|x|
  double worst = 0;               // maximum error of the second pass relative to its bound
  std::optional<WrongElement> first_wrong;  // in either pass
  ExecuteOutcome outcome;                   // of the pass that did not finish, else of the last

  [[nodiscard]] bool right() const {
    return !too_large && outcome.finished() && wrong == 0 && out_of_bound == 0;
  }
  /// Empty if right().
  [[nodiscard]] std::string problem() const;
};

/// Checks a message of `count` elements, divided into blocks of ceil(count / blocks) elements and
/// padded with zeros. Ranks start with the contract's data and NaN elsewhere; auxiliary ranks start
/// with zeros.
/// First pass: integers small enough for exact sums in any order, so that a missing, duplicate or
/// misplaced contribution is detected. Second pass: numbers in [-1, 1); sums within n * eps *
/// sum|x| of the double-precision sum (eps = 2^(1 - significand); Higham 2002, section 4.2), copies
/// bit-exact.
[[nodiscard]] NumericVerdict check_numbers(const Schedule& schedule, const Contract& contract,
                                           std::int64_t count, const NumericOptions& options = {});

/// The same check with an execution by the caller, once, in the default order and with the options'
/// slots, on blocks() and other memories.
class NumericRun {
 public:
  /// The schedule and the contract must outlive this object.
  NumericRun(const Schedule& schedule, const Contract& contract, std::int64_t count,
             const NumericOptions& options = {});
  NumericRun(const NumericRun&) = delete;
  NumericRun& operator=(const NumericRun&) = delete;
  ~NumericRun();

  /// Initial blocks. Null if check_numbers() must be used instead: two executions, a device, or
  /// none.
  [[nodiscard]] BlockMemory* blocks();
  /// Evaluates a finished execution; call once.
  [[nodiscard]] NumericVerdict judge(const ExecuteOutcome& outcome);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
