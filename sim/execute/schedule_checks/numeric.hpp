#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sim/execute/schedule/execute.hpp"
#include "sim/schedule/contract.hpp"

/// Does a schedule compute the right numbers? It is executed on two kinds of numbers whose result
/// is known.
namespace lockstep {

struct NumericOptions {
  std::uint64_t seed = 1;
  std::optional<int> slots{};  // in place of the schedule's
  /// All buffers together. Messages that need more are checked with as many blocks of four elements
  /// at most, the last one full or not as it was.
  std::int64_t most_floats = std::int64_t{1} << 26;
  /// Bits of the significand of what is computed in, the hidden one included; at most 24.
  int significand = 24;
  /// Who moves the numbers in place of the host executor: what is wrong, else nothing. Memory that
  /// the schedule names and nobody has written holds NaN, or nothing, when it is handed back.
  std::function<std::optional<std::string>(const Schedule& schedule, HostMemory& memory)> run{};
};

struct WrongElement {
  int rank = 0;
  std::int64_t element = 0;  // in the result, counted over the whole message
  double got = 0;
  double expected = 0;
  Chunk chunk{};  // its block
  std::optional<ScheduleStepIndex>
      written{};  // which step wrote it last; none: as it was at the start
};

struct NumericVerdict {
  std::int64_t count = 0;         // elements of the message that was executed
  bool reduced = false;           // count is fewer than asked
  bool too_large = false;         // not even one element per block fits: nothing was run
  std::int64_t wrong = 0;         // elements of all ranks that had to be exact and are not
  std::int64_t out_of_bound = 0;  // second pass: further from the sum than n * eps * sum|x|
  double worst = 0;               // largest error of the second pass, as a fraction of its bound
  std::optional<WrongElement> first_wrong;  // of either pass
  ExecuteOutcome outcome;                   // of the pass that did not finish, else of the last

  [[nodiscard]] bool right() const {
    return !too_large && outcome.finished() && wrong == 0 && out_of_bound == 0;
  }
  /// Why not; empty where right().
  [[nodiscard]] std::string problem() const;
};

/// A message of `count` elements is cut into the schedule's blocks of ceil(count / blocks)
/// elements; what is missing in the last ones is padded with zeros. Every rank begins with what the
/// contract says it holds and with NaN where it holds nothing; auxiliary ranks begin with zeros.
/// First pass: whole numbers so small that every order of addition is exact, so that one missing,
/// doubled or misplaced contribution shows. Second pass: numbers in [-1, 1), sums to within n * eps
/// * sum|x| of the sum in double precision (eps = 2^(1 - significand); Higham 2002, section 4.2),
/// and what is only moved to the bit.
[[nodiscard]] NumericVerdict check_numbers(const Schedule& schedule, const Contract& contract,
                                           std::int64_t count, const NumericOptions& options = {});

/// The same where somebody else executes the schedule in the plain order and at the slots of the
/// options: once, on blocks() and on whatever else it checks.
class NumericRun {
 public:
  /// The schedule and the contract must outlive this.
  NumericRun(const Schedule& schedule, const Contract& contract, std::int64_t count,
             const NumericOptions& options = {});
  NumericRun(const NumericRun&) = delete;
  NumericRun& operator=(const NumericRun&) = delete;
  ~NumericRun();

  /// As they are before the execution. Null where check_numbers() has to be called instead: it
  /// would execute twice, on a device, or not at all.
  [[nodiscard]] BlockMemory* blocks();
  /// After an execution that finished; once.
  [[nodiscard]] NumericVerdict judge(const ExecuteOutcome& outcome);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
