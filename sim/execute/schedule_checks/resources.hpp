#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/execute/schedule/execute.hpp"
#include "sim/schedule/contract.hpp"

/// What a schedule needs to run: room on its connections, and how much every rank moves.
namespace lockstep {

/// The least that the busiest rank must move whatever the algorithm, as multiples of the message,
/// where ranks alone add up (Chan, Heimlich, Purkayastha and van de Geijn 2007, section 3).
struct LeastTraffic {
  double sent = 0;
  double received = 0;
};
[[nodiscard]] LeastTraffic least_traffic(const Contract& contract);

struct ResourceVerdict {
  int slots = 0;           // at which it was executed
  ExecuteOutcome outcome;  // of that; its traffic is the schedule's where it finished
  std::string waits;       // where stuck: who waits for whom
  /// Where stuck: the fewest slots with which it ends, as a run with them showed; none: it never
  /// does.
  std::optional<int> enough_slots;
  /// Most messages on one connection, sent and neither taken nor, where they are forwarded, sent
  /// on, if no send ever has to wait and all ranks move alike.
  std::int64_t deepest_queue = 0;
  /// The most of any rank that holds data, as multiples of the message; then of any helper.
  double sent = 0;
  double received = 0;
  double sent_by_auxiliary = 0;
  double received_by_auxiliary = 0;
  LeastTraffic least;
  /// Auxiliary ranks take part. They may add up on the way, as switches do, so that ranks move less
  /// than `least`, which holds without them.
  bool auxiliary_ranks = false;

  [[nodiscard]] bool ends() const { return outcome.finished(); }
  /// Why not, with who waits for whom; empty where it ends.
  [[nodiscard]] std::string problem() const;
};

/// Executes without data, at `slots` or at the schedule's own. `finished`: what an execution at
/// those slots came to that finished, if there was one; then it is not executed again.
[[nodiscard]] ResourceVerdict check_resources(const Schedule& schedule, const Contract& contract,
                                              std::optional<int> slots = {},
                                              const ExecuteOutcome* finished = nullptr);

}  // namespace lockstep
