#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

NodeBlueprint build_dgx_a100(const Parameters& parameters) {
  return hgx_node(parameters, 4);  // two GPUs and two NICs per PCIe switch
}

}  // namespace

Builder dgx_a100_builder() {
  return {
      "dgx_a100",
      "DGX A100: 8 GPUs on NVSwitches, 4 PCIe switches, 8 NICs on 8 rails",
      {{"nvlink", ParameterType::link, Presence::required, "all NVLinks of a GPU together"},
       {"pcie", ParameterType::link, Presence::required, "each PCIe slot"},
       {"cpu", ParameterType::link, Presence::required, "between the two sockets"}},
      R"({"builder": "dgx_a100", "nvlink": {"bandwidth": "300 GB/s", "latency": "300 ns"}, "pcie": {"bandwidth": "32 GB/s", "latency": "500 ns"}, "cpu": {"bandwidth": "32 GB/s", "latency": "500 ns"}})",
      "NVIDIA DGX A100 System Architecture, WP-10083, 2020; PCIe tree as in Azure/azhpc-images "
      "8e9d055 topology/ndv4-topo.xml",
      NodeBuilder{build_dgx_a100}};
}

}  // namespace lockstep
