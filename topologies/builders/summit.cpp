#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

/// Per socket three V100 in a triangle of NVLink bricks (two links), each with a brick to the
/// POWER9; the NIC has a port on either socket.
NodeBlueprint build_summit(const Parameters& parameters) {
  NodeBlueprint node;
  Graph& graph = *node.graph;
  const VertexId gpus = add_node_parts(graph, VertexKind::gpu, 6, 2);
  const VertexId cpus = add_node_parts(graph, VertexKind::cpu, 2);
  const VertexId nics = add_node_parts(graph, VertexKind::nic, 2, 2);
  const LinkFigures brick = parameters.link("nvlink").times(2);
  for (unsigned socket = 0; socket < 2; ++socket) {
    const VertexId first = gpus + 3 * socket;
    for (unsigned g = 0; g < 3; ++g) {
      add_cable(graph, first + g, cpus + socket, LinkKind::nvlink, brick);
    }
    add_cable(graph, first, first + 1, LinkKind::nvlink, brick);
    add_cable(graph, first, first + 2, LinkKind::nvlink, brick);
    add_cable(graph, first + 1, first + 2, LinkKind::nvlink, brick);
    add_cable(graph, nics + socket, cpus + socket, LinkKind::pcie, parameters.link("pcie"));
  }
  add_cable(graph, cpus, cpus + 1, LinkKind::cpu, parameters.link("cpu"));
  return node;
}

}  // namespace

Builder summit_builder() {
  return {
      "summit",
      "a Summit node: 6 V100 and 2 POWER9 on NVLink, a port of the NIC per socket",
      {{"nvlink", ParameterType::link, Presence::required, "one NVLink"},
       {"pcie", ParameterType::link, Presence::required, "the NIC's slot at either socket"},
       {"cpu", ParameterType::link, Presence::required, "X-Bus between the sockets"}},
      R"({"builder": "summit", "nvlink": {"bandwidth": "25 GB/s", "latency": "300 ns"}, "pcie": {"bandwidth": "16 GB/s", "latency": "500 ns"}, "cpu": {"bandwidth": "64 GB/s", "latency": "500 ns"}})",
      "Vazhkudai et al., The Design, Deployment, and Evaluation of the CORAL Pre-Exascale "
      "Systems, SC18",
      NodeBuilder{build_summit}};
}

}  // namespace lockstep
