#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/interop/chakra/chakra.hpp"
#include "strategies/interop/text/message_tags.hpp"

/// Checks across all ranks of a trace.
namespace lockstep {

/// Identifies a node: rank and position in its file.
struct ChakraNodeRef {
  std::uint32_t rank = 0;
  std::uint32_t index = 0;
};

/// One collective call of a group.
struct ChakraCall {
  std::string group;
  std::size_t number = 0;            // earlier calls of the group
  std::vector<ChakraNodeRef> nodes;  // one per member, in rank order
};

/// Matches the k-th collective of one rank of a group with the k-th of the others. A group consists
/// of the ranks that name it; the unnamed one of all ranks. Reports calls whose count, kind or size
/// differ.
[[nodiscard]] std::vector<ChakraCall> match_collectives(const ChakraTrace& trace,
                                                        Problems& problems);

/// The sends and receives of a trace, in order of rank and node, with tags that the engine can
/// match.
struct ChakraMessages {
  std::vector<ChakraNodeRef> nodes;
  std::vector<MessageEnd> ends;
  MessageTags tags;
};

[[nodiscard]] ChakraMessages match_messages(const ChakraTrace& trace);

}  // namespace lockstep
