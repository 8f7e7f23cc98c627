#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

/// Do lanes meet in memory without a word about who comes first? A wrong result shows a race in
/// some orders of execution; what this finds is a race in all of them.
namespace lockstep {

/// Two accesses to one block of a rank of which at least one writes, and no chain of lanes' orders,
/// named steps and messages leads from one to the other. Sums of one step's messages into one block
/// are no race; sums by two lanes are.
struct Race {
  ScheduleStepIndex first;   // as executed; both of one rank
  ScheduleStepIndex second;  // may be the same step: two messages of it
  Chunk chunk;               // one block
  std::string what;          // a sentence
};

struct RaceVerdict {
  /// False where that would take too long; then nothing was found and nothing is proved.
  bool complete = true;
  std::int64_t count = 0;  // pairs of accesses found to race, one per block and later access
  std::optional<Race> first{};

  [[nodiscard]] bool right() const { return !first; }
};

/// Of a schedule that ends. `most_work`: number of lanes of all ranks times steps and messages; it
/// counts only where lanes of a rank meet in memory.
[[nodiscard]] RaceVerdict check_races(const Schedule& schedule, std::optional<int> slots = {},
                                      std::int64_t most_work = std::int64_t{1} << 29);

}  // namespace lockstep
