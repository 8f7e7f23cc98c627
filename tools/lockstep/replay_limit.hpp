#pragma once

#include "sim/fold/fold.hpp"

namespace lockstep::cli {

/// Memory that a replay may take where nothing else is said.
inline constexpr Bytes kMostMemory = 8_GiB;

/// Throws UsageError where a replay would take more than `most`, before it takes any: the text says
/// how much, of what, and what to do.
void refuse_large_replay(const Network& network, const Workload& workload, NetworkModel model,
                         const FoldOptions& options, Bytes most);

}  // namespace lockstep::cli
