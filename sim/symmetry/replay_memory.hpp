#pragma once

#include <cstdint>

#include "sim/symmetry/fold.hpp"

namespace lockstep {

namespace fold {
struct RankFold;
}  // namespace fold

/// Estimated peak state of a replay, from walking schedules without storing them.
struct ReplayMemory {
  std::uint64_t pairs = 0;   // communicating pairs, of one block if blocks are folded
  std::uint64_t posted = 0;  // maximum number of messages posted at once
  Bytes bytes;               // approximate; 0 if negligible
};

/// For replay_folded() with these options. Counting stops far above any machine's memory; the rest
/// is extrapolated.
[[nodiscard]] ReplayMemory replay_memory(const Network& network, const Workload& workload,
                                         NetworkModel model, const FoldOptions& options = {});

/// For a replay by rank, and for one that is not.
[[nodiscard]] ReplayMemory memory_by_rank(const fold::RankFold& fold, const Workload& workload);
[[nodiscard]] ReplayMemory memory_not_by_rank(const Network& network, const Workload& workload,
                                              NetworkModel model, const FoldOptions& options);

/// For replay() of a workload whose streams call collectives, as if all operations took equally
/// long: the maximum in flight at once.
[[nodiscard]] ReplayMemory stream_memory(const Network& network, const Workload& workload);

}  // namespace lockstep
