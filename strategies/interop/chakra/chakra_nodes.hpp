#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/interop/chakra/chakra.hpp"

/// Conversion of nodes, as read from either file form, to a checked ChakraRank.
namespace lockstep {

/// An integer field; none if absent or not an integer.
struct ChakraNumber {
  bool given = false;
  std::optional<std::int64_t> value;
  std::string shown;  // as shown in errors
};

struct RawChakraNode {
  std::int64_t type = 0;  // number in the schema
  std::uint64_t id = 0;
  std::string name;
  std::vector<std::uint64_t> after_control;  // ids in ctrl_deps
  std::vector<std::uint64_t> after_data;     // and in data_deps
  std::optional<Duration> duration;          // none: overflow
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

/// Checks and links the nodes of one rank of `ranks`; reports problems. With a single rank,
/// messages to others are dropped.
[[nodiscard]] ChakraRank link_nodes(const std::vector<RawChakraNode>& nodes, int ranks,
                                    Problems& problems);

/// Microseconds as a duration; none on overflow.
[[nodiscard]] std::optional<Duration> chakra_duration(std::uint64_t microseconds);

}  // namespace lockstep
