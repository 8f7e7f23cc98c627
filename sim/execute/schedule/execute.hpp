#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/execute/schedule/block_memory.hpp"
#include "sim/execute/schedule/execute_observer.hpp"
#include "sim/execute/schedule/host_memory.hpp"
#include "sim/execute/schedule/ready_pool.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/schedule/wait_cycle.hpp"

/// Runs a schedule on real numbers, or on whatever else blocks may hold: one thread, any number of
/// ranks. It knows no clock; it only shows whether the schedule computes what it says, and that it
/// can end.
namespace lockstep {

/// A lane of a rank that could not go on.
struct BlockedLane {
  int rank = 0;
  int lane = 0;
  std::int64_t step = 0;
  std::string waits_for;  // "to send 2 chunks to rank 3", "for lane 1 to finish step 4"
};

/// What was moved, in blocks, and how much of it at once.
struct Traffic {
  std::vector<std::int64_t> sent;  // by each rank
  std::vector<std::int64_t> received;
  /// Most messages that one connection held: sent, and not yet taken, or taken and not yet sent on
  /// out of their slot.
  std::int64_t deepest_queue = 0;
  int deepest_from = 0;  // that connection
  int deepest_to = 0;
  int deepest_channel = 0;
};

struct ExecuteOutcome {
  enum class Kind : std::uint8_t {
    finished,
    stuck,      // every lane that is not done waits for another
    malformed,  // a step asks for what cannot be: see `problem`
    wrong,      // the memory refused what a step wrote: see `problem`
  };
  Kind kind = Kind::finished;
  std::int64_t transfers = 0;
  std::int64_t blocked_lanes = 0;    // all of them
  std::vector<BlockedLane> blocked;  // the first few
  std::vector<Wait> waits;           // where stuck: the ring of waits, or the wait for nobody
  std::string problem;               // a sentence naming rank, lane and step; empty when finished
  std::optional<ScheduleStepIndex> at;  // that step
  Traffic traffic;
  /// Some channel between two ranks was used by several lanes of one of them: which of their
  /// messages meet depends on the order of execution.
  bool shares_channels = false;

  [[nodiscard]] bool finished() const { return kind == Kind::finished; }
};

struct ExecuteOptions {
  ExecuteOrder order = ExecuteOrder::first_ready_first;
  std::uint64_t seed = 1;  // of `shuffled`
  int starved_rank = 0;    // of `starved`
  int starved_lane = 0;
  std::optional<int> slots{};  // in place of the schedule's
  ExecuteObserver* observer = nullptr;
  bool known_steps = false;  // an execution that finished has looked at every step already
};

/// A transfer happens when both ends have reached it, first to first per (from, to, channel). With
/// slots > 0 a send is over as soon as it has one of that many places on the way, which is free
/// again when the message has been taken, or sent on where it is forwarded. A step's sends
/// carry what the buffer held when the step began; what arrives is applied at once; local
/// operations come when all of the step's transfers are over. Lanes that wait for named steps wait.
/// Deterministic; never hangs.
[[nodiscard]] ExecuteOutcome execute(const Schedule& schedule, BlockMemory& memory,
                                     const ExecuteOptions& options = {});
/// On real numbers. Throws InternalError where `memory` does not fit the schedule.
[[nodiscard]] ExecuteOutcome execute(const Schedule& schedule, HostMemory& memory,
                                     const ExecuteOptions& options = {});

}  // namespace lockstep
