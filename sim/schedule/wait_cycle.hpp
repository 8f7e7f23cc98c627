#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/schedule/schedule.hpp"

/// Diagnosis of deadlocked schedules: the wait cycle, or a wait that is never satisfied.
namespace lockstep {

/// Progress of a lane. A step that has begun has posted all its messages; incomplete ones are open.
struct LanePosition {
  std::int64_t done = 0;  // steps finished
  bool begun = false;     // the next step
  std::vector<std::uint32_t>
      open_sends{};  // of that step, as places in ScheduleStep::sends, ascending
  std::vector<std::uint32_t> open_receives{};
};

/// A wait of one lane.
struct LaneWait {
  enum class Kind : std::uint8_t { send, receive, step };
  int rank = 0;
  int lane = 0;
  std::int64_t step = 0;
  Kind kind = Kind::step;
  int peer = 0;  // of a send or a receive
  int channel = 0;
  ScheduleStepRef named{};  // the awaited step of the same rank
  bool for_nobody = false;  // the peer has no remaining step that would match
};

/// Positions of a deadlocked schedule: lane l of rank r is at r * lanes() + l. Returns either one
/// wait that is never satisfied, or a wait cycle, each waiting for the next and the last for the
/// first; empty if no lane waits. Prefers the unsatisfiable wait of the lowest rank, else a short
/// cycle.
[[nodiscard]] std::vector<LaneWait> wait_cycle(const Schedule& schedule,
                                               std::span<const LanePosition> positions);

/// "rank 0 lane 2 step 5 waits to send to rank 1 <- rank 1 lane 0 step 4 waits ... <- rank 0 lane 2
/// step 5"; long cycles are shortened. Lanes are named if a schedule has several.
[[nodiscard]] std::string describe_waits(const Schedule& schedule, std::span<const LaneWait> waits);

}  // namespace lockstep
