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

/// Executes a schedule on real numbers, or on any other contents of blocks, in one thread for any
/// number of ranks. Untimed: shows whether the schedule computes its result and terminates.
namespace lockstep {

/// A lane that cannot continue.
struct BlockedLane {
  int rank = 0;
  int lane = 0;
  std::int64_t step = 0;
  std::string waits_for;  // "to send 2 chunks to rank 3", "for lane 1 to finish step 4"
};

/// Blocks transferred, and the depth of queues.
struct Traffic {
  std::vector<std::int64_t> sent;  // by each rank
  std::vector<std::int64_t> received;
  /// Maximum number of messages on one connection: sent and not received, or received and not yet
  /// forwarded out of their slot.
  std::int64_t deepest_queue = 0;
  int deepest_from = 0;  // of that connection
  int deepest_to = 0;
  int deepest_channel = 0;
};

struct ExecuteOutcome {
  enum class Kind : std::uint8_t {
    finished,
    stuck,      // deadlock: every unfinished lane waits for another
    malformed,  // an invalid step: see `problem`
    wrong,      // the memory rejected a write: see `problem`
  };
  Kind kind = Kind::finished;
  std::int64_t transfers = 0;
  std::int64_t blocked_lanes = 0;    // all of them
  std::vector<BlockedLane> blocked;  // the first few
  std::vector<LaneWait> waits;  // of a deadlock: the wait cycle, or a wait that is never satisfied
  std::string problem;          // a sentence with rank, lane and step; empty if finished
  std::optional<ScheduleStepIndex> at;  // that step
  Traffic traffic;
  /// Several lanes of a rank used the same channel to a peer: the order of execution then decides
  /// which of their messages match.
  bool shares_channels = false;

  [[nodiscard]] bool finished() const { return kind == Kind::finished; }
};

struct ExecuteOptions {
  ExecuteOrder order = ExecuteOrder::first_ready_first;
  std::uint64_t seed = 1;  // for `shuffled`
  int starved_rank = 0;    // for `starved`
  int starved_lane = 0;
  std::optional<int> slots{};  // overrides the schedule's
  ExecuteObserver* observer = nullptr;
  bool known_steps = false;  // an earlier execution has validated every step
};

/// Executes all steps. A transfer takes place when both ends have posted it, matched in order per
/// (from, to, channel). With slots > 0 a send is complete once it has one of its connection's
/// slots, which is released when the message is received, or forwarded if it is marked so. Sends
/// carry the buffer's contents at the start of their step; arriving data is applied at once; local
/// operations follow after all transfers of the step. Deterministic; deadlocks are detected.
[[nodiscard]] ExecuteOutcome execute(const Schedule& schedule, BlockMemory& memory,
                                     const ExecuteOptions& options = {});
/// On real numbers. Throws InternalError if `memory` does not fit the schedule.
[[nodiscard]] ExecuteOutcome execute(const Schedule& schedule, HostMemory& memory,
                                     const ExecuteOptions& options = {});

}  // namespace lockstep
