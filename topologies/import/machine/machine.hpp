#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/graph/elements.hpp"

/// One machine as another tool describes it.
namespace lockstep {

/// The figures of a cable and where they come from.
struct SourcedLink {
  LinkFigures figures;
  std::string source;
};

/// How fast a NIC is.
struct NicSpeed {
  Rate rate = Rate::bytes_per_second(1);
  std::string source;
  bool assumed = false;
};

struct MachineVertex {
  VertexKind kind = VertexKind::gpu;
  std::string source;  // what the other tool calls it, such as a bus id
  std::optional<NicSpeed> speed{};
  std::size_t host = 0;  // machines that NVLink joins to one are several hosts
};

struct MachineCable {
  std::size_t from = 0;  // into Machine::vertices
  std::size_t to = 0;
  LinkKind kind = LinkKind::pcie;
  SourcedLink link;
};

/// What the way from a GPU to a NIC crosses at worst, the nearest first; the words are those of
/// `nvidia-smi topo -m` and of NCCL (src/graph/topo.h), which knows no NODE.
enum class PathType : std::uint8_t {
  pix,   // at most one PCIe bridge
  pxb,   // several PCIe bridges
  phb,   // a PCIe host bridge, which is a CPU
  node,  // several host bridges of one NUMA node
  sys,   // the link between NUMA nodes
};

/// A path type that the other tool reports, whatever the cables look like.
struct ToldPath {
  std::size_t gpu = 0;  // into Machine::vertices
  std::size_t nic = 0;
  PathType type = PathType::sys;
};

struct Machine {
  std::vector<MachineVertex> vertices;  // of each kind in the order in which they are numbered
  std::vector<MachineCable> cables;
  std::vector<ToldPath> told_paths;
  bool xgmi = false;               // the GPUs' links are AMD's, not NVLinks
  std::string device;              // id of what its GPUs are, in configs/devices; empty: not known
  bool device_assumed = false;     // it is only likely
  std::vector<std::string> notes;  // what had to be assumed, or was left out

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
