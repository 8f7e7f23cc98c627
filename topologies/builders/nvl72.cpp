#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

constexpr unsigned kGpus = 72;
constexpr unsigned kPerTray = 4;  // GPUs, and NICs, of a compute tray; two Grace CPUs

/// GPU and NIC i are in tray i / 4 and on rail i % 4: racks join tray position by tray position.
/// Grace's memory, and what hangs on it, is within reach of the whole rack over NVLink (extended
/// GPU memory), so these GPUs forward.
NodeBlueprint build_nvl72(const Parameters& parameters) {
  NodeBlueprint node;
  Graph& graph = *node.graph;
  const VertexId gpus = add_node_parts(graph, VertexKind::gpu, kGpus);
  const VertexId nvswitch = add_node_parts(graph, VertexKind::nvswitch, 1);
  const VertexId cpus = add_node_parts(graph, VertexKind::cpu, kGpus / 2);
  const VertexId nics = add_node_parts(graph, VertexKind::nic, kGpus);
  for (unsigned g = 0; g < kGpus; ++g) {
    graph[gpus + g].rail = graph[nics + g].rail = static_cast<std::int32_t>(g % kPerTray);
    graph[gpus + g].forwards = true;
    add_cable(graph, gpus + g, nvswitch, LinkKind::nvlink, parameters.link("nvlink"));
    add_cable(graph, gpus + g, cpus + g / 2, LinkKind::cpu, parameters.link("c2c"));
    add_cable(graph, nics + g, cpus + g / 2, LinkKind::pcie, parameters.link("pcie"));
  }
  return node;
}

}  // namespace

Builder nvl72_builder() {
  return {
      "nvl72",
      "GB200 NVL72: 72 GPUs on one NVLink domain, 36 Grace CPUs, a NIC per GPU on 4 rails",
      {{"nvlink", ParameterType::link, Presence::required, "all NVLinks of a GPU together"},
       {"c2c", ParameterType::link, Presence::required, "NVLink-C2C of a GPU to its Grace CPU"},
       {"pcie", ParameterType::link, Presence::required, "each NIC's slot"}},
      R"({"builder": "nvl72", "nvlink": {"bandwidth": "900 GB/s", "latency": "300 ns"}, "c2c": {"bandwidth": "225 GB/s", "latency": "300 ns"}, "pcie": {"bandwidth": "64 GB/s", "latency": "500 ns"}})",
      "NVIDIA GB200 NVL72 datasheet, 2024; NVIDIA DGX GB200 User Guide",
      NodeBuilder{build_nvl72}};
}

}  // namespace lockstep
