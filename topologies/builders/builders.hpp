#pragma once

#include "topologies/builders/registry.hpp"

/// One row per file of this folder; topologies/builders/registry.cpp lists them.
namespace lockstep {

[[nodiscard]] Builder ring_builder();
[[nodiscard]] Builder full_mesh_builder();
[[nodiscard]] Builder hypercube_builder();
[[nodiscard]] Builder torus_2d_builder();
[[nodiscard]] Builder torus_3d_builder();

[[nodiscard]] Builder dgx1_builder();
[[nodiscard]] Builder dgx_a100_builder();
[[nodiscard]] Builder dgx_h100_builder();
[[nodiscard]] Builder pcie_box_builder();
[[nodiscard]] Builder nvl72_builder();
[[nodiscard]] Builder summit_builder();

[[nodiscard]] Builder star_builder();
[[nodiscard]] Builder fat_tree_builder();
[[nodiscard]] Builder rail_optimised_builder();
[[nodiscard]] Builder dragonfly_builder();

}  // namespace lockstep
