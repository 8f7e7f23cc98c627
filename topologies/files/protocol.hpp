#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/json.hpp"
#include "sim/network/network.hpp"
#include "topologies/graph/cluster.hpp"

/// How a library puts data on the wire: NCCL's LL, LL128 and Simple. One JSON file each
/// (configs/protocols/*.json, schema configs/schema/protocol.schema.json).
namespace lockstep {

struct Protocol {
  std::string id;    // the file's name without .json
  std::string name;  // as its library calls it
  std::string summary;
  /// Of every `wire_unit` bytes on the wire, `payload_unit` are data; the rest are flags.
  Bytes payload_unit{1};
  Bytes wire_unit{1};
  /// What a whole hop from one GPU to the next takes longer than the latencies of configs/clusters
  /// say, by the kind of link it leaves the GPU on; under `network` a hop to another node, its PCIe
  /// links included.
  std::array<Duration, kLinkKindNames.size()> added_latency{};
  std::int64_t slots = 1;  // messages between one pair of ranks that may be under way per channel
  Bytes slot_size{1};      // on the wire

  [[nodiscard]] Duration added(LinkKind kind) const {
    return added_latency[static_cast<std::size_t>(kind)];
  }
  /// Data that fit into one slot.
  [[nodiscard]] Bytes slot_payload() const;
  /// What is left of a link's rate for data, rounded down to the Rate's own steps.
  [[nodiscard]] Rate payload_rate(Rate wire) const;
};

/// Throws ConfigError with everything that is wrong with the file.
[[nodiscard]] Protocol load_protocol(const std::filesystem::path& path);

/// The same from a document in memory.
[[nodiscard]] Protocol read_protocol(const JsonDocument& document, std::string id);

/// The ids of the protocols in a folder (names of its .json files), sorted.
/// Throws ConfigError where it cannot be read.
[[nodiscard]] std::vector<std::string> protocol_ids(const std::filesystem::path& folder);

/// Changes a network that was lowered from `cluster`: every link carries the payload's share of its
/// bandwidth, and links take longer by their part of a hop. Routes tell the changed latencies.
///
/// A hop's added latency lies on the links at its ends: half on each NVLink, PCIe or CPU link that
/// touches a GPU, half on each network link that touches a NIC (less what the GPUs' PCIe links
/// have, so that the whole hop adds up) or a rank itself. Links between switches add nothing,
/// however many there are.
void apply(const Protocol& protocol, const Cluster& cluster, Network& network);

}  // namespace lockstep
