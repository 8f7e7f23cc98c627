#pragma once

#include <span>
#include <vector>

#include "sim/program/mesh.hpp"
#include "sim/program/tensor.hpp"

/// Ordered sets of mesh sub-axes.
namespace lockstep {

[[nodiscard]] bool contains(const MeshSubAxes& atoms, AtomId atom);
/// Difference, intersection and union, in a's order; the union then appends what only b has.
[[nodiscard]] MeshSubAxes without(const MeshSubAxes& a, const MeshSubAxes& b);
[[nodiscard]] MeshSubAxes common(const MeshSubAxes& a, const MeshSubAxes& b);
[[nodiscard]] MeshSubAxes joined(const MeshSubAxes& a, const MeshSubAxes& b);

/// Placement of a tensor over the mesh: per extent the sub-axes that shard it, and the sub-axes
/// over which it is a partial sum.
struct Placement {
  std::vector<MeshSubAxes> shardings{};  // as Tensor::extents
  MeshSubAxes partial{};

  friend bool operator==(const Placement&, const Placement&) = default;
};
[[nodiscard]] Placement placement_of(const Tensor& tensor);
void place(Tensor& tensor, const Placement& placement);
/// The sharding of a dimension; empty if the tensor does not have it.
[[nodiscard]] MeshSubAxes sharding_of(const Tensor& tensor, const Placement& placement, Dim dim);

}  // namespace lockstep
