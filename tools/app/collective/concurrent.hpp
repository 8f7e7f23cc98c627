#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/app/collective/collective_request.hpp"

namespace lockstep::app {

/// One entry of the input file.
struct ConcurrentCollective {
  std::string name;
  Collective collective = Collective::all_reduce;
  AlgorithmSpec spec;
  Bytes size;
  std::vector<EndpointId> ranks;  // empty: all of the cluster
  Duration start;
  std::int64_t repeat = 1;
  int root = 0;
  TrafficWeight traffic_weight = 1;
};

struct ConcurrentRow {
  ConcurrentCollective collective;
  Bytes size;         // after division into blocks
  Duration alone;     // from start to end
  Duration together;  // the same, concurrently with the others
};

struct ConcurrentReport {
  std::shared_ptr<const CollectiveSetup> setup;
  std::vector<ConcurrentRow> collectives;
  FoldReport fold;          // of all concurrently
  std::string fingerprint;  // of the concurrent times
};

/// Replays collectives that share a cluster, each alone and all concurrently; the ratio is their
/// slowdown.
/// FILE is JSON: {"collectives": [{"collective": "all_reduce", "algorithm": "ring", "size": "64
/// MiB", "ranks": [0, 1, 2, 3] or {"first": 0, "count": 4, "stride": 1}, "start": "0 us", "repeat":
/// 1, "root": 0, "traffic_weight": 1, "name": "..."}, ...]}. Defaults: all ranks, ring, start 0,
/// once, weight 1. A rank with a start of its own begins none of them before; all others are later
/// by their skew. Switches that reduce and hosts are shared. Throws ConfigError for an invalid
/// file, RequestError for what the cluster does not allow, such as weights in the queue model, and
/// for settings of ranks that take no part.
[[nodiscard]] ConcurrentReport run_concurrent(const std::string& file,
                                              const CollectiveRequest& request);

/// configs/schema/concurrent.schema.json.
[[nodiscard]] JsonValue concurrent_schema();

}  // namespace lockstep::app
