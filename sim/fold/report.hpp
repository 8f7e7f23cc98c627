#pragma once

#include "sim/fold/fold.hpp"
#include "sim/fold/partition.hpp"

namespace lockstep::fold {

/// Which classes there are, and what tells each from the largest.
void describe_classes(const Relations& relations, const Partition& partition,
                      const Network& network, const Workload& workload, FoldReport& report);

}  // namespace lockstep::fold
