#pragma once

#include "sim/symmetry/fold.hpp"
#include "sim/symmetry/partition/partition.hpp"

namespace lockstep::fold {

/// Fills the report's classes and how each differs from the usual one of its call.
void describe_classes(const Relations& relations, const Partition& partition,
                      const Network& network, const Workload& workload, FoldReport& report);

}  // namespace lockstep::fold
