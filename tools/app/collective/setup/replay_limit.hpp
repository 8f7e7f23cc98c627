#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/symmetry/fold.hpp"

namespace lockstep::app {

/// Memory that a replay may take where nothing else is said.
inline constexpr Bytes kMostMemory = 8_GiB;

/// Throws RequestError where a replay would take more than `most`, before it takes any: the text
/// says how much, of what, and what to do.
void refuse_large_replay(const Network& network, const Workload& workload, NetworkModel model,
                         const FoldOptions& options, Bytes most);

/// What streams of operations are replayed for: "jobs.json on 512 ranks", `lockstep replay`.
struct StreamsToReplay {
  std::string name;
  std::size_t ranks = 0;
  std::string_view command;
};

/// The same of a replay of streams, one by one.
void refuse_large_streams(const Network& network, const Workload& workload,
                          const StreamsToReplay& what, Bytes most);

}  // namespace lockstep::app
