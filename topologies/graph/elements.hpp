#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/provenance.hpp"
#include "sim/base/units.hpp"
#include "sim/network/network.hpp"

/// Elements of a cluster: vertices of its graph and the cables between them.
namespace lockstep {

using VertexId = std::uint32_t;

enum class VertexKind : std::uint8_t {
  gpu,
  host,  // an endpoint without GPUs, such as a parameter server
  cpu,   // a socket with its memory
  nvswitch,
  pcie_switch,
  nic,
  leaf_switch,
  spine_switch,
  core_switch,
};
inline constexpr std::array<std::string_view, 9> kVertexKindNames{
    "gpu", "host", "cpu", "nvswitch", "pcie_switch", "nic", "leaf", "spine", "core"};

enum class LinkKind : std::uint8_t {
  nvlink,
  pcie,
  cpu,  // between sockets, or coherent between a CPU and its GPUs (UPI, X-Bus, NVLink-C2C)
  network,
};
inline constexpr std::array<std::string_view, 4> kLinkKindNames{"nvlink", "pcie", "cpu", "network"};

[[nodiscard]] constexpr std::string_view to_string(VertexKind kind) {
  return kVertexKindNames[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr std::string_view to_string(LinkKind kind) {
  return kLinkKindNames[static_cast<std::size_t>(kind)];
}
[[nodiscard]] std::optional<VertexKind> parse_vertex_kind(std::string_view text);
[[nodiscard]] std::optional<LinkKind> parse_link_kind(std::string_view text);

/// Whether ranks are placed on it: GPUs and hosts.
[[nodiscard]] constexpr bool holds_a_rank(VertexKind kind) {
  return kind == VertexKind::gpu || kind == VertexKind::host;
}

/// Parameters of one direction of a cable.
struct LinkFigures {
  Rate bandwidth = Rate::bytes_per_second(1);   // nominal
  Duration latency;                             // paid once by every transfer that crosses it
  double efficiency = 1.0;                      // in (0, 1]: the usable part of the bandwidth
  Provenance provenance = Provenance::assumed;  // of the usable bandwidth
  Provenance latency_provenance = Provenance::assumed;

  [[nodiscard]] Rate carried() const { return bandwidth.scaled(efficiency); }
  /// `count` parallel cables as one.
  [[nodiscard]] LinkFigures times(int count) const;
};

struct Vertex {
  VertexKind kind = VertexKind::gpu;
  bool forwards = false;   // transfers may pass through
  std::int32_t node = -1;  // -1: part of the fabric
  std::int32_t local = 0;  // among its kind in its node, or in its plane of the fabric
  std::int32_t rail = -1;  // -1: none
  std::string name;        // empty: derived from kind and indices
};

/// One direction of a cable between vertices of the whole cluster.
struct ClusterLink {
  VertexId from = 0;
  VertexId to = 0;
  LinkKind kind = LinkKind::network;
  LinkFigures figures;
};

}  // namespace lockstep
