#include "topologies/builders/common.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

NodeBlueprint build_dgx_h100(const Parameters& parameters) {
  return hgx_node(parameters, 8);  // one GPU and its NIC per PCIe switch
}

}  // namespace

Builder dgx_h100_builder() {
  return {
      "dgx_h100",
      "DGX or HGX H100, H200: 8 GPUs on NVSwitches, a PCIe switch and a NIC each, 8 rails",
      {{"nvlink", ParameterType::link, Presence::required, "all NVLinks of a GPU together"},
       {"pcie", ParameterType::link, Presence::required, "each PCIe slot"},
       {"cpu", ParameterType::link, Presence::required, "between the two sockets"}},
      R"({"builder": "dgx_h100", "nvlink": {"bandwidth": "450 GB/s", "latency": "300 ns"}, "pcie": {"bandwidth": "64 GB/s", "latency": "500 ns"}, "cpu": {"bandwidth": "48 GB/s", "latency": "500 ns"}})",
      "NVIDIA DGX H100/H200 User Guide, DU-11087; PCIe tree as in Azure/azhpc-images 8e9d055 "
      "topology/ndv5-topo.xml",
      NodeBuilder{build_dgx_h100}};
}

}  // namespace lockstep
