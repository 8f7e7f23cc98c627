#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/execute/host/host_memory.hpp"
#include "sim/schedule/schedule.hpp"

/// Runs a schedule on real numbers: single precision, one thread, any number of ranks. It knows no
/// clock; it only shows whether the schedule computes what it says, and that it can end.
namespace lockstep {

/// A lane of a rank that could not go on.
struct BlockedLane {
  int rank = 0;
  int lane = 0;
  std::int64_t step = 0;
  std::string waits_for;  // "to send 2 blocks to rank 3", "lane 1 to finish step 4"
};

struct ExecuteOutcome {
  enum class Kind : std::uint8_t {
    finished,
    stuck,      // every lane that is not done waits for another
    malformed,  // a step asks for what cannot be: see `problem`
  };
  Kind kind = Kind::finished;
  std::int64_t transfers = 0;
  std::int64_t blocked_lanes = 0;    // all of them
  std::vector<BlockedLane> blocked;  // the first few
  std::string problem;               // a sentence naming rank, lane and step; empty when finished

  [[nodiscard]] bool finished() const { return kind == Kind::finished; }
};

/// A transfer happens when both ends have reached it, first to first per (from, to, channel). With
/// slots() > 0 a send is over as soon as it has one of that many places on the way. A step's sends
/// carry what the buffer held when the step began; what arrives is applied at once. Lanes that wait
/// for named steps wait. Deterministic; never hangs.
/// Throws InternalError where `memory` does not fit the schedule.
[[nodiscard]] ExecuteOutcome execute(const Schedule& schedule, HostMemory& memory);

}  // namespace lockstep
