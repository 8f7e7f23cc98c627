#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/graph/elements.hpp"

/// A machine as described by another tool.
namespace lockstep {

/// Parameters of a cable and their source.
struct SourcedLink {
  LinkFigures figures;
  std::string source;
};

/// Speed of a NIC.
struct NicSpeed {
  Rate rate = Rate::bytes_per_second(1);
  std::string source;
  bool assumed = false;
};

struct MachineVertex {
  VertexKind kind = VertexKind::gpu;
  std::string source;  // the other tool's name, such as a bus id
  std::optional<NicSpeed> speed{};
  std::size_t host = 0;  // machines connected by NVLink consist of several hosts
};

struct MachineCable {
  std::size_t from = 0;  // index in Machine::vertices
  std::size_t to = 0;
  LinkKind kind = LinkKind::pcie;
  SourcedLink link;
};

/// The farthest element on the path from a GPU to a NIC, nearest first, named as in `nvidia-smi
/// topo -m` and NCCL (src/graph/topo.h), which has no NODE.
enum class PathType : std::uint8_t {
  pix,   // at most one PCIe bridge
  pxb,   // several PCIe bridges
  phb,   // a PCIe host bridge (CPU)
  node,  // several host bridges of one NUMA node
  sys,   // the link between NUMA nodes
};

/// A path type reported by the other tool, which overrides the cables.
struct ReportedPath {
  std::size_t gpu = 0;  // index in Machine::vertices
  std::size_t nic = 0;
  PathType type = PathType::sys;
};

struct Machine {
  std::vector<MachineVertex> vertices;  // of each kind in numbering order
  std::vector<MachineCable> cables;
  std::vector<ReportedPath> told_paths;
  bool xgmi = false;               // GPU links are AMD's, not NVLinks
  std::string device;              // id of its GPUs in configs/devices; empty: unknown
  bool device_assumed = false;     // inferred
  std::vector<std::string> notes;  // assumptions and omissions

  std::size_t add(MachineVertex vertex) {
    vertices.push_back(std::move(vertex));
    return vertices.size() - 1;
  }
  void join(std::size_t from, std::size_t to, LinkKind kind, SourcedLink link) {
    cables.push_back({from, to, kind, std::move(link)});
  }
  [[nodiscard]] std::vector<std::size_t> of_kind(VertexKind kind) const {
    std::vector<std::size_t> found;
    for (std::size_t v = 0; v < vertices.size(); ++v) {
      if (vertices[v].kind == kind) found.push_back(v);
    }
    return found;
  }
};

}  // namespace lockstep
