#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace lockstep {

/// Dropped messages or collectives.
struct ChakraDropped {
  std::int64_t count = 0;
  Bytes bytes;  // saturates on overflow

  void add(Bytes size);
};

/// Parts of a file, or of all files of a trace, that were ignored or dropped.
struct ChakraIgnored {
  std::int64_t absent_controls = 0;     // ctrl_deps on missing nodes
  std::int64_t cyclic_controls = 0;     // all ctrl_deps of files where they form a cycle
  std::int64_t cpu_communications = 0;  // nodes with is_cpu_op that record GPU communication
  ChakraDropped messages;               // sends and receives of a one-rank trace
  ChakraDropped collectives;            // of groups of one rank

  void add(const ChakraIgnored& other);
};

/// Notes for a trace of `ranks`; empty if nothing was ignored. Sentences without a full stop.
[[nodiscard]] std::vector<std::string> notes_on(const ChakraIgnored& ignored, int ranks);

}  // namespace lockstep
