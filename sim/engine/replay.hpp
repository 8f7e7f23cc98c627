#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/network.hpp"
#include "sim/schedule/workload.hpp"

/// Replays a workload on a network: when each step starts and ends, and how much each link carried.
namespace lockstep {

enum class NetworkModel : std::uint8_t {
  fluid,       // max-min fair shares of every link
  alpha_beta,  // only ports limit; each transfer capped by its route's smallest bandwidth
  queue,       // whole messages, first in first out on every link, cut-through
};

/// One rank that could not finish, and what it was waiting for.
struct Unfinished {
  EndpointId endpoint = 0;
  std::string text;  // names rank, operation, peer and the last step that matched
};

/// One transfer on the network, from when it may leave to when it has arrived.
struct LoggedTransfer {
  EndpointId from = 0;
  EndpointId to = 0;
  Bytes size;
  TimePoint start;
  TimePoint end;
};

struct ReplayResult {
  TimePoint end;                                    // when the last thing ended
  std::vector<std::vector<TimePoint>> call_ends;    // per call, per member
  std::vector<std::vector<TimePoint>> stream_ends;  // per stream, per operation
  std::vector<Bytes> link_bytes;                    // per link, what it carried
  std::uint64_t transfers = 0;
  std::uint64_t solves = 0;            // fair shares worked out, components counted one by one
  std::vector<Unfinished> unfinished;  // empty unless the workload cannot end
  std::vector<LoggedTransfer> log;     // in order of arrival; empty unless the workload asks for it
};

/// How far a replay is.
struct ReplayProgress {
  TimePoint now;
  double share = 0;  // operations of streams that have begun, of all
};

/// Called now and then during a long replay.
using OnReplay = std::function<void(const ReplayProgress&)>;

/// Deterministic: the same input gives the same result, on any machine. Keeps no global state; many
/// replays may run at once on different threads.
/// Errors: throws InternalError for a workload that is malformed (indices out of range).
[[nodiscard]] ReplayResult replay(const Network& network, const Workload& workload,
                                  NetworkModel model, const OnReplay& report = {});

}  // namespace lockstep
