#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/replay.hpp"

namespace lockstep {

struct StreamFoldReport {
  bool folded = false;
  std::string why_not;                      // reason why nothing was folded
  std::vector<EndpointId> representatives;  // of the classes, where folded
  /// Of each endpoint its class, where folded; kNoClass of those without streams.
  std::vector<std::uint32_t> class_of;
  static constexpr std::uint32_t kNoClass = UINT32_MAX;
  std::uint64_t operations = 0;  // of all streams
  std::uint64_t simulated_operations = 0;
};

struct FoldedStreams {
  ReplayResult result;  // as replay() returns it, except `solves`
  StreamFoldReport report;
};

/// Returns what replay() returns of a workload of streams that compute, send messages and call
/// collectives, of which those of one endpoint of each class are replayed. Endpoints of a class
/// have equal programs (the operations and dependencies of their streams, one by one in order) and
/// exchange each message with endpoints of one class over links of equal classes; the partition is
/// that of all messages together, so it holds whatever is in flight at once. Replayed unfolded,
/// with the reason in the report: unless `fold`; the queue model; logs of transfers, launch times,
/// speeds that change or streams of patterns; collectives of given durations, or which some member
/// calls not once or in another order than others; messages with one end; more than half as many
/// classes as endpoints; and where the order of events within an instant may decide
/// (order_may_decide()).
[[nodiscard]] FoldedStreams replay_streams_folded(const Network& network, const Workload& workload,
                                                  NetworkModel model, bool fold = true);

}  // namespace lockstep
