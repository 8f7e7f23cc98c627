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
  std::optional<int> slots{};           // in place of the schedule's
  std::optional<std::int64_t> count{};  // elements of the message; none: 3 a block, one missing
  std::int64_t most_floats = NumericOptions{}.most_floats;
  std::int64_t most_work = SymbolicOptions{}.most_work;
  /// As of NumericOptions: who moves the numbers.
  int significand = NumericOptions{}.significand;
  decltype(NumericOptions::run) run{};
};

/// What the checkers say of a schedule.
struct CollectiveVerdict {
  std::string impossible;  // why the schedule cannot be asked for this at all; nothing was run
  SymbolicVerdict symbols;
  RaceVerdict races;
  NumericVerdict numbers;
  /// Of what is wrong first, counted from 1 on as `explain` does; none where no round is to blame.
  std::optional<std::int64_t> round{};

  [[nodiscard]] bool right() const {
    return impossible.empty() && symbols.right() && races.right() && numbers.right();
  }
  /// The first thing that is wrong, in a sentence that begins with its round; empty where right().
  [[nodiscard]] std::string problem() const;
  /// Where: rank, chunk and the step that wrote them. None if right(), and if a schedule
  /// deadlocks or has an impossible step.
  [[nodiscard]] std::optional<WrongChunk> first_wrong() const;
};

/// "round 3: rank 1 ...".
[[nodiscard]] std::string in_round(std::optional<std::int64_t> round, const std::string& what);

/// Whether `schedule` keeps `contract`: on sets of contributions in several orders of execution
/// (fewer of large schedules where races are ruled out), without races between lanes,
/// on whole numbers exactly, on random floats within a bound. A barrier has no numbers.
[[nodiscard]] CollectiveVerdict verify(const Schedule& schedule, const Contract& contract,
                                       const VerifyOptions& options = {});

}  // namespace lockstep
