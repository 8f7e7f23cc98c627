#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/lockstep/arena.hpp"
#include "tools/lockstep/output.hpp"
#include "tools/lockstep/replay_limit.hpp"

namespace lockstep::cli {

/// What `lockstep replay` is asked.
struct ReplayQuestion {
  std::string trace;
  ClusterOptions cluster;
  NetworkOptions network;
  std::string algorithms;    // of collectives in the trace; empty: the usual ones
  double compute_scale = 1;  // of every computation's duration
  std::optional<int> slots;  // none: sends never wait
  Bytes most_memory = kMostMemory;
};

struct ReplayAnswer {
  Report report;
  std::vector<std::string> ignored;  // of the trace; tables and JSON have it among their notes
};

/// Replays a trace on a cluster. Throws ConfigError for what the files have wrong, UsageError where
/// the cluster is too small, cannot have an algorithm or memory is short, Refusal where the trace
/// cannot end.
[[nodiscard]] ReplayAnswer run_replay(const ReplayQuestion& question);

}  // namespace lockstep::cli
