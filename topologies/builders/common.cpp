#include "topologies/builders/common.hpp"

namespace lockstep {

void add_single_gpus(Graph& graph, int ranks, bool forwards) {
  for (int rank = 0; rank < ranks; ++rank) {
    add_vertex(graph, Vertex{VertexKind::gpu, forwards, rank, 0, -1, {}});
  }
}

VertexId add_node_parts(Graph& graph, VertexKind kind, int count, int rails) {
  const auto first = static_cast<VertexId>(vertex_count(graph));
  for (int local = 0; local < count; ++local) {
    const int rail = rails == 0 ? -1 : local * rails / count;
    add_vertex(graph, Vertex{kind, kind != VertexKind::gpu, 0, local, rail, {}});
  }
  return first;
}

VertexId add_switches(Graph& graph, VertexKind kind, int count) {
  const auto first = static_cast<VertexId>(vertex_count(graph));
  for (int local = 0; local < count; ++local) {
    add_vertex(graph, Vertex{kind, true, -1, local, -1, {}});
  }
  return first;
}

void check_cables(const char* parameter, double cables) {
  constexpr double kMostCables = 1e7;
  if (cables > kMostCables) {
    throw BuildError(parameter, "this makes more than ten million cables between switches");
  }
}

NodeBlueprint hgx_node(const Parameters& parameters, int pcie_switches) {
  constexpr unsigned kGpus = 8;
  const auto switches = static_cast<unsigned>(pcie_switches);
  NodeBlueprint node;
  Graph& graph = *node.graph;
  const VertexId gpus = add_node_parts(graph, VertexKind::gpu, kGpus, kGpus);
  const VertexId nvswitch = add_node_parts(graph, VertexKind::nvswitch, 1);
  const VertexId first_switch = add_node_parts(graph, VertexKind::pcie_switch, pcie_switches);
  const VertexId cpus = add_node_parts(graph, VertexKind::cpu, 2);
  const VertexId nics = add_node_parts(graph, VertexKind::nic, kGpus, kGpus);

  const LinkFigures& pcie = parameters.link("pcie");
  for (unsigned g = 0; g < kGpus; ++g) {
    add_cable(graph, gpus + g, nvswitch, LinkKind::nvlink, parameters.link("nvlink"));
  }
  for (unsigned g = 0; g < kGpus; ++g) {
    const VertexId above = first_switch + g * switches / kGpus;
    add_cable(graph, gpus + g, above, LinkKind::pcie, pcie);
    add_cable(graph, nics + g, above, LinkKind::pcie, pcie);
  }
  for (unsigned s = 0; s < switches; ++s) {
    add_cable(graph, first_switch + s, cpus + s * 2 / switches, LinkKind::pcie, pcie);
  }
  add_cable(graph, cpus, cpus + 1, LinkKind::cpu, parameters.link("cpu"));
  return node;
}

}  // namespace lockstep
