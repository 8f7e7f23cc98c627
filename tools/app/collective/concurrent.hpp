#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/app/collective/collective_request.hpp"

namespace lockstep::app {

/// One entry of the file.
struct ConcurrentCollective {
  std::string name;
  Collective collective = Collective::all_reduce;
  AlgorithmSpec spec;
  Bytes size;
  std::vector<EndpointId> ranks;  // empty: all of the cluster
  Duration start;
  std::int64_t repeat = 1;
  int root = 0;
};

struct ConcurrentRow {
  ConcurrentCollective collective;
  Bytes size;         // as it is divided
  Duration alone;     // from its start to its end
  Duration together;  // likewise, with all the others
};

struct ConcurrentReport {
  std::shared_ptr<const CollectiveSetup> setup;
  std::vector<ConcurrentRow> collectives;
  std::string fingerprint;  // of the times together
};

/// Collectives that share a cluster: which ranks, which algorithm, how much, from when on, how many
/// in a row. Each is replayed alone and all are replayed together, where they share links; the
/// ratio is what they cost one another.
///
/// FILE is JSON: {"collectives": [{"collective": "all_reduce", "algorithm": "ring", "size":
/// "64 MiB", "ranks": [0, 1, 2, 3] or {"first": 0, "count": 4, "stride": 1}, "start": "0 us",
/// "repeat": 1, "root": 0, "name": "..."}, ...]}; all ranks, ring, start at once and once where
/// left out. Throws ConfigError for what is wrong with it, RequestError for what the cluster cannot
/// have.
[[nodiscard]] ConcurrentReport run_concurrent(const std::string& file,
                                              const CollectiveRequest& request);

}  // namespace lockstep::app
