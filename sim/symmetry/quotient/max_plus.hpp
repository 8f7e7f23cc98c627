#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/symmetry/quotient/quotient.hpp"

namespace lockstep::fold {

struct MaxPlusResult {
  std::vector<TimePoint> ends;  // per rank of the quotient's one call
  std::int64_t rounds = 0;
  std::int64_t skipped = 0;     // of these
  std::uint64_t transfers = 0;  // worked out one by one
};

/// Whether no two transfers of the call can limit each other, whenever they are in flight: on every
/// link the rates that they would have alone add up to what it carries at the most, or they all
/// come from (or go to) one member that has one at a time. Then each has that rate throughout:
/// while the water rises to a level x, a link has at least x left for every flow that wants more.
[[nodiscard]] bool nobody_limits(const Relations& relations, const Partition& partition,
                                 const Network& network, const Quotient& quotient);

/// The ends of a quotient in which nobody limits anybody. Every transfer then takes a time of its
/// own, and a round is a recursion over maxima and sums: a transfer starts when both ends have
/// reached it and a step ends when its transfers and local work have. Empty where ends are matched
/// across rounds, or what an end point does in one lane can delay what it does in another.
[[nodiscard]] std::optional<MaxPlusResult> run_max_plus(const Quotient& quotient);

}  // namespace lockstep::fold
