#pragma once

#include <string>

#include "sim/symmetry/fold.hpp"
#include "sim/symmetry/partition/partition.hpp"

namespace lockstep::fold {

/// Fills EquivalenceClass::difference and ::cause of the first FoldReport::kMaxDescribed classes.
void describe_differences(const Relations& relations, const Partition& partition,
                          const Network& network, const Workload& workload, FoldReport& report);

/// The first difference of a member from another one, in a few words.
[[nodiscard]] std::string difference_between(std::uint32_t member, std::uint32_t usual,
                                             const Relations& relations, const Partition& partition,
                                             const Network& network, const Workload& workload);

/// How an endpoint differs from another in what it takes; empty: not at all.
[[nodiscard]] std::string endpoint_difference(const Endpoint& endpoint, const Endpoint& usual);

/// By how much a start differs from another; empty: not at all.
[[nodiscard]] std::string start_difference(TimePoint start, TimePoint usual);

}  // namespace lockstep::fold
