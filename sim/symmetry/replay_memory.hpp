#pragma once

#include <cstdint>

#include "sim/symmetry/fold.hpp"

namespace lockstep {

/// What a replay would have to hold at once, found by walking schedules and holding nothing.
struct ReplayMemory {
  std::uint64_t pairs = 0;   // ranks that send to each other, of one block where blocks do alike
  std::uint64_t posted = 0;  // messages that ranks post at once, at the most
  Bytes bytes;               // some; 0 where it is not worth counting
};

/// Of replay_folded() with these options. Counting stops where there are far more pairs or messages
/// than any memory holds; what is left is then estimated from what was counted.
[[nodiscard]] ReplayMemory replay_memory(const Network& network, const Workload& workload,
                                         NetworkModel model, const FoldOptions& options = {});

/// Of replay() of a workload whose streams call its collectives, as if all operations took equally
/// long: what its streams have in flight at once, at the most.
[[nodiscard]] ReplayMemory stream_memory(const Network& network, const Workload& workload);

}  // namespace lockstep
