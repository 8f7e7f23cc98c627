#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/schedule/schedule.hpp"

/// Why a schedule cannot go on: who waits for whom, until the chain closes or ends at nobody.
namespace lockstep {

/// Where a lane stands. A step that has begun has posted all its messages; those that are not over
/// are open.
struct LanePosition {
  std::int64_t done = 0;  // steps finished
  bool begun = false;     // the step after them
  std::vector<std::uint32_t>
      open_sends{};  // of that step, as places in ScheduleStep::sends, ascending
  std::vector<std::uint32_t> open_receives{};
};

/// One lane's wait.
struct Wait {
  enum class Kind : std::uint8_t { send, receive, step };
  int rank = 0;
  int lane = 0;
  std::int64_t step = 0;
  Kind kind = Kind::step;
  int peer = 0;  // of a send or a receive
  int channel = 0;
  ScheduleStepRef named{};  // the step of the same rank that is waited for
  bool for_nobody = false;  // the peer has no step left that would do its part
};

/// Positions are those of a schedule that cannot go on: rank r's lane l at r * lanes() + l. What
/// comes back is either one wait that nobody will ever answer, or a ring of waits: each for the
/// next, the last for the first. Empty where no lane waits. Of several the nobody of the lowest
/// rank, else a short ring.
[[nodiscard]] std::vector<Wait> wait_cycle(const Schedule& schedule,
                                           std::span<const LanePosition> positions);

/// "rank 0 lane 2 step 5 waits to send to rank 1 <- rank 1 lane 0 step 4 waits ... <- rank 0 lane 2
/// step 5"; long rings are cut in the middle. Lanes are named where a schedule has several.
[[nodiscard]] std::string describe_waits(const Schedule& schedule, std::span<const Wait> waits);

}  // namespace lockstep
