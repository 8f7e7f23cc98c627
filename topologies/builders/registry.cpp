#include "topologies/builders/registry.hpp"

#include <algorithm>

/// The builders, each defined at the end of its own file.
namespace lockstep {

Builder ring_builder();
Builder full_mesh_builder();
Builder hypercube_builder();
Builder torus_2d_builder();
Builder torus_3d_builder();
Builder dgx1_builder();
Builder dgx_a100_builder();
Builder dgx_h100_builder();
Builder pcie_box_builder();
Builder nvl72_builder();
Builder summit_builder();
Builder star_builder();
Builder fat_tree_builder();
Builder rail_optimised_builder();
Builder dragonfly_builder();
Builder sites_builder();

const std::vector<Builder>& topology_builders() {
  static const std::vector<Builder> table{
      ring_builder(),     full_mesh_builder(),      hypercube_builder(), torus_2d_builder(),
      torus_3d_builder(), dgx1_builder(),           dgx_a100_builder(),  dgx_h100_builder(),
      pcie_box_builder(), nvl72_builder(),          summit_builder(),    star_builder(),
      fat_tree_builder(), rail_optimised_builder(), dragonfly_builder(), sites_builder(),
  };
  return table;
}

const Builder* find_topology_builder(std::string_view name) {
  const auto& table = topology_builders();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [name](const Builder& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace lockstep
