#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/symmetry/streams/stream_fold.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"
#include "tools/app/collective/setup/rank_settings.hpp"
#include "tools/app/collective/setup/replay_limit.hpp"
#include "tools/app/replay/replay_classes.hpp"
#include "tools/app/replay/replay_traffic.hpp"

namespace lockstep::app {

/// A trace of another program, and the cluster to replay it on.
struct ReplayTraceRequest {
  std::string trace;
  ClusterRequest cluster;
  NetworkRequest network;
  std::string algorithms;    // of collectives in the trace; empty: defaults
  double compute_scale = 1;  // factor on computation times
  std::optional<int> slots;  // none: sends never block
  /// `compute` is the speed of the trace's computations; reductions of collectives are as fast as
  /// usual.
  std::vector<RankSettingRange> ranks{};  // with individual parameters
  bool fold = true;                       // equivalent ranks are replayed once, where they can be
  bool classes = false;                   // ReplayTraceResult::classes
  Bytes most_memory = kMostMemory;
};

struct BusiestLink {
  std::string name;
  double busy = 0;  // fraction of the time in which the link is busy
};

struct ReplayTraceResult {
  std::shared_ptr<const CollectiveSetup> setup;
  std::string form;               // "GOAL", "Chakra"
  std::vector<RankTotals> ranks;  // of the trace
  BusiestLink busiest;
  std::map<Collective, AlgorithmSpec> algorithms;  // of its collectives
  std::vector<std::string> notes;                  // what is ignored in the files
  std::string fingerprint;
  StreamFoldReport fold;
  std::vector<ReplayClass> classes;  // where asked for
  RankSettings settings;
};

/// Replays a trace on a cluster. Throws ConfigError for invalid files, RequestError if the cluster
/// is too small or does not allow an algorithm, Refusal for a deadlock.
[[nodiscard]] ReplayTraceResult replay_trace(const ReplayTraceRequest& request);

}  // namespace lockstep::app
