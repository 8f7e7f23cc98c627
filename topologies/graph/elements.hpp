#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/network/network.hpp"

/// What a cluster is made of: the things at the vertices of its graph, the cables at the edges.
namespace lockstep {

using VertexId = std::uint32_t;

enum class VertexKind : std::uint8_t {
  gpu,
  host,  // an end point without GPUs, such as a parameter server
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

/// GPUs, hosts: what ranks are placed on.
[[nodiscard]] constexpr bool holds_a_rank(VertexKind kind) {
  return kind == VertexKind::gpu || kind == VertexKind::host;
}

/// What one direction of a cable can do.
struct LinkFigures {
  Rate bandwidth = Rate::bytes_per_second(1);  // nominal
  Duration latency;                            // paid once by every transfer that crosses it
  double efficiency = 1.0;                     // in (0, 1]: the usable part of the bandwidth

  [[nodiscard]] Rate carried() const { return bandwidth.scaled(efficiency); }
  /// `count` cables side by side, as one.
  [[nodiscard]] LinkFigures times(int count) const;
};

struct Vertex {
  VertexKind kind = VertexKind::gpu;
  bool forwards = false;   // transfers may pass through it
  std::int32_t node = -1;  // -1: part of the fabric
  std::int32_t local = 0;  // index among its kind in its node, or in its plane of the fabric
  std::int32_t rail = -1;  // -1: none
  std::string name;        // empty: made of kind and indices
};

/// One direction of a cable, as a vertex of the whole cluster sees it.
struct ClusterLink {
  VertexId from = 0;
  VertexId to = 0;
  LinkKind kind = LinkKind::network;
  LinkFigures figures;
};

}  // namespace lockstep
