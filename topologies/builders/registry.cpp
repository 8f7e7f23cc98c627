#include "topologies/builders/registry.hpp"

#include <algorithm>

#include "topologies/builders/builders.hpp"

namespace lockstep {

const std::vector<Builder>& topology_builders() {
  static const std::vector<Builder> table{
      ring_builder(),     full_mesh_builder(),      hypercube_builder(), torus_2d_builder(),
      torus_3d_builder(), dgx1_builder(),           dgx_a100_builder(),  dgx_h100_builder(),
      pcie_box_builder(), nvl72_builder(),          summit_builder(),    star_builder(),
      fat_tree_builder(), rail_optimised_builder(), dragonfly_builder(),
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
