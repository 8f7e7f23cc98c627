#include <algorithm>
#include <string>

#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

constexpr unsigned kPerTray = kGpusOfTray;  // with two Grace CPUs

/// GPU and NIC i are in tray i / 4 and on rail i % 4: racks join tray position by tray position.
/// Grace's memory, and what hangs on it, is within reach of the whole rack over NVLink (extended
/// GPU memory), so these GPUs forward.
/// With `gpus` below 72 only the trays of a job are there: NVLink reaches all trays alike, so that
/// it does not matter which.
NodeBlueprint build_nvl72(const Parameters& parameters) {
  const int count = parameters.count("gpus", kGpusOfRack);
  if (count > kGpusOfRack || count % static_cast<int>(kPerTray) != 0) {
    throw BuildError("gpus", "expected whole trays of 4 GPUs, 4 to 72 GPUs of a rack, got " +
                                 std::to_string(count));
  }
  NodeBlueprint node;
  Graph& graph = *node.graph;
  const VertexId gpus = add_node_parts(graph, VertexKind::gpu, count);
  const VertexId nvswitch = add_node_parts(graph, VertexKind::nvswitch, 1);
  const VertexId cpus = add_node_parts(graph, VertexKind::cpu, count / 2);
  const VertexId nics = add_node_parts(graph, VertexKind::nic, count);
  for (unsigned g = 0; g < static_cast<unsigned>(count); ++g) {
    graph[gpus + g].rail = graph[nics + g].rail = static_cast<std::int32_t>(g % kPerTray);
    graph[gpus + g].forwards = true;
    add_cable(graph, gpus + g, nvswitch, LinkKind::nvlink, parameters.link("nvlink"));
    add_cable(graph, gpus + g, cpus + g / 2, LinkKind::cpu, parameters.link("c2c"));
    add_cable(graph, nics + g, cpus + g / 2, LinkKind::pcie, parameters.link("pcie"));
  }
  return node;
}

}  // namespace

int rack_gpus(std::int64_t ranks) {
  const std::int64_t fewest = (ranks + kGpusOfRack - 1) / kGpusOfRack;
  for (std::int64_t racks = std::max<std::int64_t>(2, fewest); racks < 2 * fewest; ++racks) {
    if (ranks % racks == 0 && ranks / racks % kPerTray == 0) return static_cast<int>(ranks / racks);
  }
  if (fewest < 2 || ranks % kPerTray != 0) return kGpusOfRack;
  return static_cast<int>((ranks / kPerTray + fewest - 1) / fewest) * kGpusOfTray;
}

Builder nvl72_builder() {
  return {
      "nvl72",
      "GB200 NVL72: 72 GPUs on one NVLink domain, 36 Grace CPUs, a NIC per GPU on 4 rails",
      {{"nvlink", ParameterType::link, Presence::required, "all NVLinks of a GPU together"},
       {"c2c", ParameterType::link, Presence::required, "NVLink-C2C of a GPU to its Grace CPU"},
       {"pcie", ParameterType::link, Presence::required, "each NIC's slot"},
       {"gpus", ParameterType::count, Presence::optional,
        "GPUs of a rack that are used, whole trays of 4 (default: 72; with ranks, trays of the "
        "fewest "
        "racks, equally many of each if possible)"}},
      R"({"builder": "nvl72", "nvlink": {"bandwidth": "900 GB/s", "latency": "300 ns"}, "c2c": {"bandwidth": "225 GB/s", "latency": "300 ns"}, "pcie": {"bandwidth": "64 GB/s", "latency": "500 ns"}})",
      "NVIDIA GB200 NVL72 datasheet, 2024; NVIDIA DGX GB200 User Guide",
      NodeBuilder{build_nvl72}};
}

}  // namespace lockstep
