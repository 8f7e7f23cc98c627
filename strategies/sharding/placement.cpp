#include "strategies/sharding/placement.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace lockstep {

bool contains(const MeshSubAxes& atoms, AtomId atom) {
  return std::find(atoms.begin(), atoms.end(), atom) != atoms.end();
}

MeshSubAxes without(const MeshSubAxes& a, const MeshSubAxes& b) {
  MeshSubAxes out;
  for (const AtomId atom : a) {
    if (!contains(b, atom)) out.push_back(atom);
  }
  return out;
}

MeshSubAxes common(const MeshSubAxes& a, const MeshSubAxes& b) {
  MeshSubAxes out;
  for (const AtomId atom : a) {
    if (contains(b, atom)) out.push_back(atom);
  }
  return out;
}

MeshSubAxes joined(const MeshSubAxes& a, const MeshSubAxes& b) {
  MeshSubAxes out = a;
  for (const AtomId atom : b) {
    if (!contains(a, atom)) out.push_back(atom);
  }
  return out;
}

Placement placement_of(const Tensor& tensor) {
  Placement out;
  for (const Extent& extent : tensor.extents) out.shardings.push_back(extent.shards);
  out.partial = tensor.partial;
  return out;
}

void place(Tensor& tensor, const Placement& placement) {
  LOCKSTEP_CHECK(placement.shardings.size() == tensor.extents.size());
  for (std::size_t i = 0; i < placement.shardings.size(); ++i) {
    tensor.extents[i].shards = placement.shardings[i];
  }
  tensor.partial = placement.partial;
}

MeshSubAxes sharding_of(const Tensor& tensor, const Placement& placement, Dim dim) {
  for (std::size_t i = 0; i < tensor.extents.size(); ++i) {
    if (tensor.extents[i].dim == dim) return placement.shardings[i];
  }
  return {};
}

}  // namespace lockstep
