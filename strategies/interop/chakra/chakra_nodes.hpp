#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/interop/chakra/chakra.hpp"

/// From nodes as some form of trace gives them to a checked ChakraRank.
namespace lockstep {

/// A whole number, where it was given and is one.
struct ChakraNumber {
  bool given = false;
  std::optional<std::int64_t> value;
  std::string shown;  // for messages
};

struct RawChakraNode {
  std::int64_t type = 0;  // as the schema numbers them
  std::uint64_t id = 0;
  std::string name;
  std::vector<std::uint64_t> after_control;  // ids in ctrl_deps
  std::vector<std::uint64_t> after_data;     // and in data_deps
  std::optional<Duration> duration;          // none: more than can be counted
  bool on_cpu = false;
  ChakraNumber comm_type;
  ChakraNumber comm_size;
  ChakraNumber comm_src;
  ChakraNumber comm_dst;
  ChakraNumber comm_tag;
  std::string group;
  bool all_dimensions = true;  // of involved_dim
  Position at;
};

/// Checks the nodes of one rank of `ranks` and ties them together; notes what is wrong. With
/// one rank alone, its messages to others are dropped.
[[nodiscard]] ChakraRank link_nodes(const std::vector<RawChakraNode>& nodes, int ranks,
                                    Problems& problems);

/// Microseconds as a duration; nothing where they are too many.
[[nodiscard]] std::optional<Duration> chakra_duration(std::uint64_t microseconds);

}  // namespace lockstep
