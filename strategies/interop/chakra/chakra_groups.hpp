#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/interop/chakra/chakra.hpp"
#include "strategies/interop/text/message_tags.hpp"

/// What only shows when all ranks of a trace are seen together.
namespace lockstep {

/// Names a node: rank and position in its file.
struct ChakraNodeRef {
  std::uint32_t rank = 0;
  std::uint32_t index = 0;
};

/// One collective that the ranks of a group do together.
struct ChakraCall {
  std::string group;
  std::size_t number = 0;            // how many the group did before
  std::vector<ChakraNodeRef> nodes;  // member by member, in order of rank
};

/// The k-th collective that one rank of a group does is the k-th of all its others. A group is the
/// ranks that name it; the nameless one is all ranks. Notes where counts, kinds or sizes differ.
[[nodiscard]] std::vector<ChakraCall> match_collectives(const ChakraTrace& trace,
                                                        Problems& problems);

/// The sends and receives of a trace, in order of rank and node, with the tags on which the engine
/// matches them.
struct ChakraMessages {
  std::vector<ChakraNodeRef> nodes;
  std::vector<MessageEnd> ends;
  MessageTags tags;
};

[[nodiscard]] ChakraMessages match_messages(const ChakraTrace& trace);

}  // namespace lockstep
