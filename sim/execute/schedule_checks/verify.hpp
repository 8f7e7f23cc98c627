#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/execute/schedule_checks/numeric.hpp"
#include "sim/execute/schedule_checks/races.hpp"
#include "sim/execute/schedule_checks/symbolic.hpp"
#include "sim/schedule/contract.hpp"

namespace lockstep {

struct VerifyOptions {
  std::uint64_t seed = 1;
  std::optional<int> slots{};           // overrides the schedule's
  std::optional<std::int64_t> count{};  // elements of the message; none: three per block, less one
  std::int64_t most_floats = NumericOptions{}.most_floats;
  std::int64_t most_work = SymbolicOptions{}.most_work;
  /// As in NumericOptions.
  int significand = NumericOptions{}.significand;
  decltype(NumericOptions::run) run{};
};

/// Verdict of all checks of a schedule.
struct CollectiveVerdict {
  std::string impossible;  // why the schedule cannot be checked at all; nothing was run
  SymbolicVerdict symbols;
  RaceVerdict races;
  NumericVerdict numbers;
  /// Round of the first problem, 1-based as in `explain`; none if no round is at fault.
  std::optional<std::int64_t> round{};

  [[nodiscard]] bool right() const {
    return impossible.empty() && symbols.right() && races.right() && numbers.right();
  }
  /// The first problem in a sentence that starts with its round; empty if right().
  [[nodiscard]] std::string problem() const;
  /// Its rank, chunk and the step that wrote it. None if right(), and for deadlocks and invalid
  /// steps.
  [[nodiscard]] std::optional<WrongChunk> first_wrong() const;
};

/// "round 3: rank 1 ...".
[[nodiscard]] std::string in_round(std::optional<std::int64_t> round, const std::string& what);

/// Verifies that `schedule` fulfills `contract`: symbolically in several execution orders (fewer
/// for large schedules without possible races), free of races between lanes, exactly on integers,
/// and within a bound on random floats. A barrier has no numbers.
[[nodiscard]] CollectiveVerdict verify(const Schedule& schedule, const Contract& contract,
                                       const VerifyOptions& options = {});

}  // namespace lockstep
