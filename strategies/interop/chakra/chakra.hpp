#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/json/config_error.hpp"
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
  Duration duration;                 // as recorded; ignored for messages and collectives
  Bytes size;                        // comm_size: a message's length, or a rank's input
  int peer = 0;                      // send: comm_dst, receive: comm_src
  std::uint32_t tag = 0;             // comm_tag
  Collective collective = Collective::all_reduce;  // comm_type, of collectives only
  std::string group;                               // pg_name; empty: all ranks
  Position at;                                     // in JSON files
};

struct ChakraRank {
  std::string file;
  std::vector<ChakraNode> nodes;  // in the file's order
  ChakraIgnored ignored{};        // except collectives, which need all ranks to judge
};

struct ChakraTrace {
  std::vector<ChakraRank> ranks;
  std::vector<std::string> notes{};  // what was ignored; sentences without a full stop
};

inline constexpr std::size_t kLargestTrace = std::size_t{1} << 30U;  // bytes of one file

/// Reads one rank's trace of `ranks`: length-delimited protobuf, as in `.et` files. Checks the
/// nodes of the file: kinds, numbers, data dependencies that are missing or cyclic. Like
/// ASTRA-sim's feeder (mlcommons/chakra, et_feeder), only data_deps are binding: ctrl_deps on
/// missing nodes are ignored, and all of a file's if they alone form a cycle. Communication
/// recorded on a CPU (is_cpu_op) is the launch of GPU communication and keeps its CPU time, as in
/// ASTRA-sim. Throws ConfigError with every problem, by node; for malformed files, by byte.
[[nodiscard]] ChakraRank parse_chakra_et(std::string_view bytes, const std::string& file,
                                         int ranks);

/// The same from the JSON form, {"workload_graph": [{"Id": ..., "NodeType": ...}, ...]}.
[[nodiscard]] ChakraRank parse_chakra_json(std::string_view text, const std::string& file,
                                           int ranks);

/// Reads PREFIX.0.et, PREFIX.1.et, ... (or .json): `path` is PREFIX, one of the files, or a folder
/// with one such set. Throws ConfigError with the problems of all files; if there are none, with
/// problems across ranks: a rank without a file, collectives that differ within a group, sends and
/// receives of different size. Unmatched messages are left to the replay; with a single file,
/// communication with other ranks is dropped and noted.
[[nodiscard]] ChakraTrace read_chakra(const std::filesystem::path& path);

}  // namespace lockstep
