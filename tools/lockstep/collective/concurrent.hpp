#pragma once

#include <string>

#include "tools/lockstep/collective/collective_question.hpp"
#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

/// Collectives that share a cluster: which ranks, which algorithm, how much, from when on, how many
/// in a row. Each is replayed alone and all are replayed together, where they share links; the
/// ratio is what they cost one another.
///
/// FILE is JSON: {"collectives": [{"collective": "all_reduce", "algorithm": "ring", "size":
/// "64 MiB", "ranks": [0, 1, 2, 3] or {"first": 0, "count": 4, "stride": 1}, "start": "0 us",
/// "repeat": 1, "root": 0, "name": "..."}, ...]}; all ranks, ring, start at once and once where
/// left out. Throws ConfigError for what is wrong with it, UsageError for what the cluster cannot
/// have.
[[nodiscard]] Report run_concurrent(const std::string& file, const CollectiveQuestion& question);

}  // namespace lockstep::cli
