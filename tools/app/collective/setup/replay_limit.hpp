#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/symmetry/fold.hpp"

namespace lockstep::app {

/// Default memory limit of a replay.
inline constexpr Bytes kMostMemory = 8_GiB;

/// Throws RequestError, before allocating, for a replay that would need more than `most`. The error
/// gives its size, its cause and a remedy.
void refuse_large_replay(const Network& network, const Workload& workload, NetworkModel model,
                         const FoldOptions& options, Bytes most);

/// The same of an estimate, for a replay that is `folded` or not.
void refuse_large_replay(const ReplayMemory& memory, const Workload& workload, bool folded,
                         Bytes most);

/// Names of a replay of streams, for errors: "jobs.json on 512 ranks", `lockstep replay`.
struct StreamsToReplay {
  std::string name;
  std::size_t ranks = 0;
  std::string_view command;
};

/// The same for a replay of individual streams.
void refuse_large_streams(const Network& network, const Workload& workload,
                          const StreamsToReplay& what, Bytes most);

}  // namespace lockstep::app
