#include <string>

#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

constexpr int kMostGpus = 64;

/// Throws BuildError unless `count` things divide evenly over `bins`.
void check_even(const char* parameter, int count, const char* over, int bins) {
  if (count % bins == 0) return;
  throw BuildError(parameter, "expected a multiple of the " + std::to_string(bins) + " " + over +
                                  ", got " + std::to_string(count));
}

NodeBlueprint build_pcie_box(const Parameters& parameters) {
  const int gpu_count = parameters.count("gpus");
  const int switch_count = parameters.count("switches", 2);
  const int nic_count = parameters.count("nics", 1);
  if (gpu_count > kMostGpus) {
    throw BuildError("gpus", "expected 1 to 64, got " + std::to_string(gpu_count));
  }
  check_even("switches", switch_count, "sockets", 2);
  check_even("gpus", gpu_count, "PCIe switches", switch_count);
  if (nic_count > 1) check_even("nics", nic_count, "sockets", 2);
  check_even("gpus", gpu_count, "NICs", nic_count);

  NodeBlueprint node;
  Graph& graph = *node.graph;
  const VertexId gpus = add_node_parts(graph, VertexKind::gpu, gpu_count, nic_count);
  const VertexId switches = add_node_parts(graph, VertexKind::pcie_switch, switch_count);
  const VertexId cpus = add_node_parts(graph, VertexKind::cpu, 2);
  const VertexId nics = add_node_parts(graph, VertexKind::nic, nic_count, nic_count);
  const LinkFigures& pcie = parameters.link("pcie");
  for (int g = 0; g < gpu_count; ++g) {
    const int above = g * switch_count / gpu_count;
    add_cable(graph, gpus + static_cast<unsigned>(g), switches + static_cast<unsigned>(above),
              LinkKind::pcie, pcie);
  }
  for (int s = 0; s < switch_count; ++s) {
    add_cable(graph, switches + static_cast<unsigned>(s),
              cpus + static_cast<unsigned>(s * 2 / switch_count), LinkKind::pcie, pcie);
  }
  for (int n = 0; n < nic_count; ++n) {
    add_cable(graph, nics + static_cast<unsigned>(n),
              cpus + static_cast<unsigned>(n * 2 / nic_count), LinkKind::pcie, pcie);
  }
  add_cable(graph, cpus, cpus + 1, LinkKind::cpu, parameters.link("cpu"));
  return node;
}

}  // namespace

Builder pcie_box_builder() {
  return {
      "pcie_box",
      "a server without NVLink: GPUs under PCIe switches under two sockets",
      {{"gpus", ParameterType::count, Presence::required, "GPUs"},
       {"switches", ParameterType::count, Presence::optional, "PCIe switches; else 2"},
       {"nics", ParameterType::count, Presence::optional, "NICs at the sockets; else 1"},
       {"pcie", ParameterType::link, Presence::required, "each PCIe slot"},
       {"cpu", ParameterType::link, Presence::required, "between the two sockets"}},
      R"({"builder": "pcie_box", "gpus": 8, "pcie": {"bandwidth": "32 GB/s", "latency": "500 ns"}, "cpu": {"bandwidth": "48 GB/s", "latency": "500 ns"}})",
      "the usual 4U server with eight dual-width slots, such as Supermicro SYS-420GP-TNR",
      NodeBuilder{build_pcie_box}};
}

}  // namespace lockstep
