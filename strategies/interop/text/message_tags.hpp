#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"

/// Tags for a trace's sends and receives that the engine can match. The engine matches them in
/// posting order and requires equal lengths; so messages of different lengths between the same
/// ranks get separate tags.
namespace lockstep {

/// One end of a message, as a trace names it.
struct MessageEnd {
  int from = 0;
  int to = 0;
  std::uint32_t tag = 0;
  Bytes size;
  bool sending = false;
};

struct MessageTags {
  /// A send and a receive with the same ranks and tag but different lengths that remain after all
  /// matches. Indices of ends.
  struct Conflict {
    std::size_t send = 0;
    std::size_t receive = 0;
  };

  std::vector<std::uint32_t> tags;  // per end; unchanged unless another length shares it
  std::vector<Conflict> conflicts;  // at most one per pair of ranks and tag
};

[[nodiscard]] MessageTags plan_tags(const std::vector<MessageEnd>& ends);

}  // namespace lockstep
