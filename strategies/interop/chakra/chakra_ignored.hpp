#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace lockstep {

/// Messages or collectives without a counterpart.
struct ChakraDropped {
  std::int64_t count = 0;
  Bytes bytes;  // the most that can be counted where they are more

  void add(Bytes size);
};

/// What of a file, or of all files of a trace, was not taken as it stands.
struct ChakraIgnored {
  std::int64_t absent_controls = 0;     // ctrl_deps on nodes that are not in the file
  std::int64_t cyclic_controls = 0;     // ctrl_deps, all of a file's, with which it cannot end
  std::int64_t cpu_communications = 0;  // nodes with is_cpu_op that record what GPUs communicate
  ChakraDropped messages;               // sends and receives of a trace of one rank
  ChakraDropped collectives;            // of groups of one rank

  void add(const ChakraIgnored& other);
};

/// Says it, for a trace of `ranks`; nothing where nothing was ignored. Sentences without a full
/// stop.
[[nodiscard]] std::vector<std::string> notes_on(const ChakraIgnored& ignored, int ranks);

}  // namespace lockstep
