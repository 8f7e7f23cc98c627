#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

/// Detects unordered accesses of lanes to the same memory. Wrong results reveal a race only in some
/// execution orders; this check covers all of them.
namespace lockstep {

/// Two accesses to one block of a rank, at least one of them a write, not ordered by lanes,
/// dependencies and messages. Additions of one step's messages into one block are no race;
/// additions by two lanes are.
struct Race {
  ScheduleStepIndex first;   // in execution order; both of one rank
  ScheduleStepIndex second;  // may be the same step, for two of its messages
  Chunk chunk;               // one block
  std::string what;          // a sentence
};

struct RaceVerdict {
  /// False if the check would take too long; then nothing is reported or proved.
  bool complete = true;
  std::int64_t count = 0;  // races found, one per block and later access
  std::optional<Race> first{};

  [[nodiscard]] bool right() const { return !first; }
};

/// Checks a terminating schedule. `most_work`: limit on lanes of all ranks times steps and
/// messages, relevant only if lanes share memory.
[[nodiscard]] RaceVerdict check_races(const Schedule& schedule, std::optional<int> slots = {},
                                      std::int64_t most_work = std::int64_t{1} << 29);

}  // namespace lockstep
