#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"
#include "sim/network/network.hpp"
#include "topologies/graph/cluster.hpp"

/// Wire protocols of a library: NCCL's LL, LL128 and Simple (configs/protocols/*.json, schema
/// configs/schema/protocol.schema.json).
namespace lockstep {

struct Protocol {
  std::string id;    // the file's name without .json
  std::string name;  // the library's name
  std::string summary;
  /// `payload_unit` of every `wire_unit` bytes on the wire are data; the rest are flags.
  Bytes payload_unit{1};
  Bytes wire_unit{1};
  /// Time of a whole hop between GPUs beyond the latencies of configs/clusters, by the kind of link
  /// on which it leaves the GPU; under `network` for a hop between nodes, including its PCIe links.
  std::array<Duration, kLinkKindNames.size()> added_latency{};
  std::int64_t slots = 1;  // messages in flight per pair of ranks and channel
  Bytes slot_size{1};      // on the wire

  [[nodiscard]] Duration added(LinkKind kind) const {
    return added_latency[static_cast<std::size_t>(kind)];
  }
  /// Data bytes per slot.
  [[nodiscard]] Bytes slot_payload() const;
  /// The data rate of a link, rounded down to the resolution of Rate.
  [[nodiscard]] Rate payload_rate(Rate wire) const;
};

/// Throws ConfigError with every problem of the file.
[[nodiscard]] Protocol load_protocol(const std::filesystem::path& path);

/// The same from a document in memory.
[[nodiscard]] Protocol read_protocol(const JsonDocument& document, std::string id);

/// configs/schema/protocol.schema.json.
[[nodiscard]] JsonValue protocol_schema();

/// Ids of the protocols in a folder (names of its .json files), sorted. Throws ConfigError if the
/// folder cannot be read.
[[nodiscard]] std::vector<std::string> protocol_ids(const std::filesystem::path& folder);

/// Applies a protocol to a network lowered from `cluster`: reduces every link's bandwidth to the
/// payload's share and adds the latencies of hops, which routes then include.
/// A hop's added latency is divided between the links at its ends: half on each NVLink, PCIe or CPU
/// link of a GPU, half on each network link of a NIC (minus that of the GPUs' PCIe links, so that
/// the whole hop adds up) or of a rank itself. Links between switches add nothing, whatever their
/// number.
void apply(const Protocol& protocol, const Cluster& cluster, Network& network);

}  // namespace lockstep
