#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/step_ends.hpp"
#include "sim/symmetry/quotient/quotient.hpp"

namespace lockstep::fold {

struct MaxPlusResult {
  std::vector<TimePoint> ends;  // per rank of the quotient's one call
  std::int64_t rounds = 0;
  std::int64_t skipped = 0;     // of these, by multiplication
  std::uint64_t transfers = 0;  // replayed one by one
  /// Of the steps of each rank; empty: not asked for, or more than StepEndsLog holds.
  std::vector<StepEnds> step_ends;
};

/// Whether no two transfers of the call can limit each other at any time: on every link the rates
/// without contention sum to at most its capacity, or all its transfers come from (or go to) one
/// member that has one at a time. Then each has that rate throughout, because at every level x a
/// link has at least x left for each flow that wants more (monotony: sim/network/maxmin/README.md).
[[nodiscard]] bool nobody_limits(const Relations& relations, const Partition& partition,
                                 const Network& network, const Quotient& quotient);

/// End times of a quotient without contention. Each transfer then has a fixed time, and a round is
/// a recursion of maxima and sums: a transfer starts when both ends have reached it, and a step
/// ends when its transfers and local work have. Empty if ends are matched across rounds, or if work
/// in one lane can delay another lane of the endpoint.
[[nodiscard]] std::optional<MaxPlusResult> run_max_plus(const Quotient& quotient,
                                                        bool step_ends = false);

}  // namespace lockstep::fold
