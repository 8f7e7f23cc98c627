#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/config_error.hpp"
#include "sim/schedule/contract.hpp"
#include "strategies/interop/chakra/chakra_ignored.hpp"

/// Chakra execution traces: per rank a graph of computations, messages and collectives, as recorded
/// from PyTorch or made by a tool. Source: Sridharan et al., "Chakra: Advancing performance
/// benchmarking and co-design using standardized execution traces", 2023; mlcommons/chakra.
namespace lockstep {

struct ChakraNode {
  enum class Kind : std::uint8_t { metadata, load, store, compute, send, receive, collective };
  Kind kind = Kind::metadata;
  bool on_cpu = false;   // is_cpu_op
  std::uint64_t id = 0;  // as written
  std::string name;
  std::vector<std::uint32_t> after;  // ctrl_deps, then data_deps, as positions in the file
  Duration duration;                 // as recorded; of messages and collectives it says nothing
  Bytes size;                        // comm_size: a message's length, or a rank's input
  int peer = 0;                      // send: comm_dst, receive: comm_src
  std::uint32_t tag = 0;             // comm_tag
  Collective collective = Collective::all_reduce;  // comm_type; a collective's alone
  std::string group;                               // pg_name; empty: all ranks
  Position at;                                     // in JSON
};

struct ChakraRank {
  std::string file;
  std::vector<ChakraNode> nodes;  // in the file's order
  ChakraIgnored ignored{};        // but for collectives, of which only all ranks tell
};

struct ChakraTrace {
  std::vector<ChakraRank> ranks;
  std::vector<std::string> notes{};  // what was ignored; sentences without a full stop
};

inline constexpr std::size_t kLargestTrace = std::size_t{1} << 30U;  // bytes of one file

/// Reads one rank's trace of `ranks`: length-delimited protobuf, as in `.et` files. The file's
/// nodes are checked on their own: kinds, numbers, data dependencies that there are not or go in a
/// circle. ASTRA-sim's feeder (mlcommons/chakra, et_feeder) follows data_deps alone; so ctrl_deps
/// on nodes that are not in the file are ignored, and all of them where they alone make a circle.
/// Communication that a CPU records (is_cpu_op) is the launch of what a GPU does and keeps its time
/// on the CPU, as in ASTRA-sim. Throws ConfigError with all that is wrong, by node; where bytes are
/// no such trace, by byte.
[[nodiscard]] ChakraRank parse_chakra_et(std::string_view bytes, const std::string& file,
                                         int ranks);

/// The same from the JSON form, {"workload_graph": [{"Id": ..., "NodeType": ...}, ...]}.
[[nodiscard]] ChakraRank parse_chakra_json(std::string_view text, const std::string& file,
                                           int ranks);

/// Reads PREFIX.0.et, PREFIX.1.et, ... (or .json): `path` is PREFIX, one of the files, or a folder
/// with one such set. Throws ConfigError with the problems of all files; then with those that only
/// show when ranks are seen together: a rank without a file, collectives that differ between the
/// ranks of a group, sends that meet a receive of another size. A message that only one end knows
/// is left to the replay; of a set of one file, communication with others is dropped and noted.
[[nodiscard]] ChakraTrace read_chakra(const std::filesystem::path& path);

}  // namespace lockstep
