#include "topologies/builders/fat_tree_plane.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {
namespace {

FabricBlueprint build_fat_tree(const Parameters& parameters, const FabricDemand& demand) {
  return fat_tree_plane(parameters, demand.nodes * demand.terminals_per_node, 64);
}

}  // namespace

Builder fat_tree_builder() {
  return {
      "fat_tree",
      "leaves, spines and cores (folded Clos), two or three levels, any oversubscription",
      fat_tree_parameters(),
      R"({"builder": "fat_tree", "link": {"bandwidth": "400 Gb/s", "latency": "500 ns"}, "radix": 64})",
      "Al-Fares, Loukissas and Vahdat, A Scalable, Commodity Data Center Network Architecture, "
      "SIGCOMM 2008",
      FabricBuilder{build_fat_tree}};
}

}  // namespace lockstep
