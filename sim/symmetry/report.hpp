#pragma once

#include "sim/symmetry/fold.hpp"
#include "sim/symmetry/partition/partition.hpp"

namespace lockstep::fold {

/// Which classes there are, and how each differs from the largest.
void describe_classes(const Relations& relations, const Partition& partition,
                      const Network& network, const Workload& workload, FoldReport& report);

/// The first thing in which a member differs from another one, in a few words.
[[nodiscard]] std::string difference_between(std::uint32_t member, std::uint32_t usual,
                                             const Relations& relations, const Partition& partition,
                                             const Network& network, const Workload& workload);

}  // namespace lockstep::fold
