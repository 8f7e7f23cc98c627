#include <array>

#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

struct Pair {
  VertexId first;
  VertexId second;
  int links;
};

/// NVLinks between the GPUs of a DGX-1V, as `nvidia-smi topo -m` prints them (NV1, NV2); six per
/// GPU. Li et al., Evaluating Modern GPU Interconnect, arXiv:1903.04611, figure 1.
constexpr std::array<Pair, 16> kPairs{{{0, 1, 1},
                                       {0, 2, 1},
                                       {0, 3, 2},
                                       {0, 4, 2},
                                       {1, 2, 2},
                                       {1, 3, 1},
                                       {1, 5, 2},
                                       {2, 3, 2},
                                       {2, 6, 1},
                                       {3, 7, 1},
                                       {4, 5, 1},
                                       {4, 6, 1},
                                       {4, 7, 2},
                                       {5, 6, 2},
                                       {5, 7, 1},
                                       {6, 7, 2}}};

NodeBlueprint build_dgx1(const Parameters& parameters) {
  NodeBlueprint node;
  Graph& graph = *node.graph;
  const VertexId gpus = add_node_parts(graph, VertexKind::gpu, 8, 4);
  const VertexId switches = add_node_parts(graph, VertexKind::pcie_switch, 4);
  const VertexId cpus = add_node_parts(graph, VertexKind::cpu, 2);
  const VertexId nics = add_node_parts(graph, VertexKind::nic, 4, 4);
  const LinkFigures& pcie = parameters.link("pcie");
  for (const auto& [first, second, links] : kPairs) {
    add_cable(graph, gpus + first, gpus + second, LinkKind::nvlink,
              parameters.link("nvlink").times(links));
  }
  for (unsigned g = 0; g < 8; ++g) {
    add_cable(graph, gpus + g, switches + g / 2, LinkKind::pcie, pcie);
  }
  for (unsigned s = 0; s < 4; ++s) {
    add_cable(graph, nics + s, switches + s, LinkKind::pcie, pcie);
    add_cable(graph, switches + s, cpus + s / 2, LinkKind::pcie, pcie);
  }
  add_cable(graph, cpus, cpus + 1, LinkKind::cpu, parameters.link("cpu"));
  return node;
}

}  // namespace

Builder dgx1_builder() {
  return {
      "dgx1",
      "DGX-1 with V100: hybrid cube mesh of one or two NVLinks, 4 PCIe switches, 4 NICs",
      {{"nvlink", ParameterType::link, Presence::required, "one NVLink"},
       {"pcie", ParameterType::link, Presence::required, "each PCIe slot"},
       {"cpu", ParameterType::link, Presence::required, "between the two sockets"}},
      R"({"builder": "dgx1", "nvlink": {"bandwidth": "25 GB/s", "latency": "300 ns"}, "pcie": {"bandwidth": "16 GB/s", "latency": "500 ns"}, "cpu": {"bandwidth": "9.6 GB/s", "latency": "500 ns"}})",
      "NVIDIA DGX-1 With Tesla V100 System Architecture, WP-08437-002, 2017; Li et al., "
      "arXiv:1903.04611",
      NodeBuilder{build_dgx1}};
}

}  // namespace lockstep
