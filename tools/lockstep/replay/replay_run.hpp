#pragma once

#include <optional>
#include <string>

#include "tools/lockstep/arena.hpp"
#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

/// What `lockstep replay` is asked.
struct ReplayQuestion {
  std::string trace;
  ClusterOptions cluster;
  NetworkOptions network;
  std::string algorithms;    // of collectives in the trace; empty: the usual ones
  double compute_scale = 1;  // of every computation's duration
  std::optional<int> slots;  // none: sends never wait
};

/// Replays a trace on a cluster. Throws ConfigError for what the files have wrong, UsageError where
/// the cluster is too small or cannot have an algorithm, Refusal where the trace cannot end.
[[nodiscard]] Report run_replay(const ReplayQuestion& question);

}  // namespace lockstep::cli
