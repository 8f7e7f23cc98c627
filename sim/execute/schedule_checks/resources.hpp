#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/execute/schedule/execute.hpp"
#include "sim/schedule/contract.hpp"

/// Resources of a schedule: connection slots, and traffic per rank.
namespace lockstep {

/// Minimum traffic of the busiest rank over all algorithms, as multiples of the message, if only
/// ranks reduce (Chan, Heimlich, Purkayastha and van de Geijn 2007, section 3).
struct LeastTraffic {
  double sent = 0;
  double received = 0;
};
[[nodiscard]] LeastTraffic least_traffic(const Contract& contract);

struct ResourceVerdict {
  int slots = 0;           // used in the execution
  ExecuteOutcome outcome;  // with the schedule's traffic if it finished
  std::string waits;       // in a deadlock: the wait cycle
  /// In a deadlock: the minimum number of slots with which it terminates, verified by execution;
  /// none: it never does.
  std::optional<int> enough_slots;
  /// Maximum number of messages on one connection, sent and neither received nor forwarded, if
  /// sends never wait and all ranks progress equally.
  std::int64_t deepest_queue = 0;
  /// Maximum over ranks with data, as multiples of the message; then over auxiliary ranks.
  double sent = 0;
  double received = 0;
  double sent_by_auxiliary = 0;
  double received_by_auxiliary = 0;
  LeastTraffic least;
  /// Auxiliary ranks take part. They may reduce in transit, as switches do, so that ranks can be
  /// below `least`.
  bool auxiliary_ranks = false;

  [[nodiscard]] bool ends() const { return outcome.finished(); }
  /// The wait cycle; empty if the schedule terminates.
  [[nodiscard]] std::string problem() const;
};

/// Executes without data, with `slots` or the schedule's own. `finished`: outcome of an earlier
/// finished execution with those slots, which is then not repeated.
[[nodiscard]] ResourceVerdict check_resources(const Schedule& schedule, const Contract& contract,
                                              std::optional<int> slots = {},
                                              const ExecuteOutcome* finished = nullptr);

}  // namespace lockstep
