#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/network/network.hpp"
#include "sim/schedule/stream_ends.hpp"
#include "sim/schedule/workload.hpp"

/// Replays a workload on a network: start and end of each step, bytes on each link.
namespace lockstep {

enum class NetworkModel : std::uint8_t {
  fluid,       // max-min fair shares of every link
  alpha_beta,  // only ports are shared; other links cap single transfers
  queue,       // whole messages, FIFO on every link, cut-through
};

/// A rank that cannot finish, and what it waits for.
struct Unfinished {
  EndpointId endpoint = 0;
  std::string text;  // names rank, operation, peer and the last step that matched
};

/// One transfer on the network, from its earliest start to its arrival.
struct LoggedTransfer {
  EndpointId from = 0;
  EndpointId to = 0;
  Bytes size;
  TimePoint start;
  TimePoint end;
};

struct ReplayResult {
  TimePoint end;                                  // when the last operation or call ends
  std::vector<std::vector<TimePoint>> call_ends;  // per call, per member
  StreamEnds stream_ends;                         // per stream, per operation
  std::vector<Bytes> link_bytes;                  // bytes on each link
  std::uint64_t transfers = 0;
  std::uint64_t solves = 0;            // solved components of max-min shares
  std::vector<Unfinished> unfinished;  // empty unless the workload deadlocks
  std::vector<LoggedTransfer> log;     // in order of arrival; empty unless the workload requests it
};

/// Progress of a replay.
struct ReplayProgress {
  TimePoint now;
  double share = 0;  // of the streams' operations that began; without streams, of all transfers
  const StreamEnds* stream_ends = nullptr;  // until now; without streams: null
};

/// Called occasionally during a long replay.
using OnReplay = std::function<void(const ReplayProgress&)>;

/// Deterministic: equal input gives equal results on any machine. No global state; replays may run
/// concurrently on several threads.
/// Errors: InternalError for a malformed workload (indices out of range).
[[nodiscard]] ReplayResult replay(const Network& network, const Workload& workload,
                                  NetworkModel model, const OnReplay& report = {});

}  // namespace lockstep
