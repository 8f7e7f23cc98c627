#pragma once

#include <span>
#include <vector>

#include "sim/program/mesh.hpp"
#include "sim/program/tensor.hpp"

/// Sets of atoms, kept in order.
namespace lockstep {

[[nodiscard]] bool contains(const MeshSubAxes& atoms, AtomId atom);
/// Those of `a` that are not in `b`, in a's order; in both; a, then what b has beyond it.
[[nodiscard]] MeshSubAxes without(const MeshSubAxes& a, const MeshSubAxes& b);
[[nodiscard]] MeshSubAxes common(const MeshSubAxes& a, const MeshSubAxes& b);
[[nodiscard]] MeshSubAxes joined(const MeshSubAxes& a, const MeshSubAxes& b);

/// How one tensor lies: per extent its cut, and over which atoms it is still a sum.
struct Placement {
  std::vector<MeshSubAxes> shardings{};  // as Tensor::extents
  MeshSubAxes partial{};

  friend bool operator==(const Placement&, const Placement&) = default;
};
[[nodiscard]] Placement placement_of(const Tensor& tensor);
void place(Tensor& tensor, const Placement& placement);
/// The cut of a dimension; empty where the tensor does not have it.
[[nodiscard]] MeshSubAxes sharding_of(const Tensor& tensor, const Placement& placement, Dim dim);

}  // namespace lockstep
