#include "topologies/builders/fat_tree_plane.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

FabricBlueprint build_rail_optimised(const Parameters& parameters, const FabricDemand& demand) {
  const int terminals = demand.nodes * (demand.terminals_per_node / demand.rails);
  FabricBlueprint fabric = fat_tree_plane(parameters, terminals, 128);
  fabric.planes = demand.rails;
  fabric.rail_first = true;
  return fabric;
}

}  // namespace

Builder rail_optimised_builder() {
  return {
      "rail_optimised",
      "per rail a fat tree of its own over the NICs of that rail; routes go rail first",
      fat_tree_parameters(),
      R"({"builder": "rail_optimised", "link": {"bandwidth": "400 Gb/s", "latency": "500 ns"}})",
      "Wang et al., Rail-only, arXiv:2307.12169, section 2; NVIDIA DGX SuperPOD Reference "
      "Architecture, RA-11333",
      FabricBuilder{build_rail_optimised}};
}

}  // namespace lockstep
