#pragma once

#include <string>

#include "tools/lockstep/completion/candidates.hpp"

namespace lockstep::cli {

/// Candidates for `--set KEY=VALUE`: keys of the schema as "parallel.tp=" or, after "=", the values
/// of an enumerated key.
[[nodiscard]] Completions complete_override(const std::string& typed);

/// Keys of cluster files for the `--set` of commands that take a cluster: "topology.shape=", from
/// the registry of builders.
[[nodiscard]] Completions complete_cluster_override();

}  // namespace lockstep::cli
