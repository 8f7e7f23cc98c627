#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"

/// Sends and receives of a trace, made fit for the engine. Which send meets which receive follows
/// from when they are posted, and the engine wants both to be equally long; so messages of
/// different lengths between the same ranks get tags of their own.
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
  /// A send and a receive on the same ranks and tag that are left over, with different lengths,
  /// when all that are equally long have met. Indices of ends.
  struct Conflict {
    std::size_t send = 0;
    std::size_t receive = 0;
  };

  std::vector<std::uint32_t> tags;  // per end; what no other length shares keeps its tag
  std::vector<Conflict> conflicts;  // one for each ranks and tag that have any
};

[[nodiscard]] MessageTags plan_tags(const std::vector<MessageEnd>& ends);

}  // namespace lockstep
