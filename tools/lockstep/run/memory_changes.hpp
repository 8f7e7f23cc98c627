#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/training/scenario.hpp"
#include "tools/lockstep/run/rank_memory.hpp"

/// A plan that does not fit: why, and what would.
namespace lockstep::cli {

struct RunQuestion;

/// Overrides that go together, such as parallel.tp=4 and parallel.dp=2.
using Change = std::vector<std::string>;

/// Changes of a plan that take memory off a rank, those that cost the least time first: more of
/// ZeRO, sequence parallelism, selective recomputation, smaller microbatches, full recomputation,
/// more tensor and pipeline parallelism, optimizer states on the host.
[[nodiscard]] std::vector<Change> memory_changes(const Scenario& scenario);

struct FittingChange {
  Change change;
  Bytes needed;  // by the rank that then needs the most
};

/// The first few changes that fit, one by one, else two and then three together; empty where none
/// does. Judged by the memory account in the order of issue.
[[nodiscard]] std::vector<FittingChange> fitting_changes(const RunQuestion& question,
                                                         const Scenario& scenario, Bytes capacity);

/// Which rank lacks how much, what takes the room, and what would fit.
[[nodiscard]] std::string memory_refusal(const RunQuestion& question, const Scenario& scenario,
                                         const RankMemory& memory);

}  // namespace lockstep::cli
