#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/step_ends.hpp"
#include "sim/symmetry/ranks/rank_costs.hpp"

namespace lockstep::fold {

struct RankRecursionResult {
  std::vector<TimePoint> ends;  // per rank of the only call
  std::int64_t rounds = 0;
  std::int64_t skipped = 0;     // of these, by multiplication
  std::uint64_t transfers = 0;  // advanced one by one
  /// Of the steps of each rank; empty: not asked for, or more than StepEndsLog holds.
  std::vector<StepEnds> step_ends;
};

/// The max-plus recursion of ../quotient/max_plus.hpp over all ranks instead of one per class, for
/// transfers that RankCosts found not to limit each other: a transfer starts when both ends have
/// reached it, and a step ends when its transfers and local work have. So every rank has its own
/// start, and every endpoint and link its own figures. Steps are read of members of block 0 only
/// (SymmetricSchedule); a transfer of theirs is one per block, on flat arrays.
///
/// The only call of `workload` must have no slots and one member per endpoint. Empty if ends are
/// matched across rounds, or if work in one lane can delay another lane of the endpoint.
[[nodiscard]] std::optional<RankRecursionResult> run_rank_recursion(
    const Relations& relations, const ReceivedPairs& received, const RankCosts& costs,
    const Network& network, const Workload& workload, bool step_ends = false);

/// Whether run_rank_recursion() gives a result; reads the same steps.
[[nodiscard]] bool may_run_rank_recursion(const Relations& relations, const ReceivedPairs& received,
                                          const RankCosts& costs, const Network& network,
                                          const Workload& workload);

}  // namespace lockstep::fold
