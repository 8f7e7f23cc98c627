#include "sim/program/mesh.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace lockstep {

Mesh::Mesh(std::vector<Atom> atoms, std::vector<std::pair<std::string, MeshSubAxes>> axes)
    : atoms_{std::move(atoms)}, axes_{std::move(axes)} {
  for (const Atom& atom : atoms_) {
    LOCKSTEP_CHECK(atom.size >= 1);
    if (atom.mirrored) {
      const std::size_t outer = strides_.size() + 1;
      LOCKSTEP_CHECK(outer < atoms_.size() && atoms_[outer].size == 2 && !atoms_[outer].mirrored);
    }
    strides_.push_back(ranks_);
    ranks_ *= atom.size;
  }
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    const bool named = std::any_of(axes_.begin(), axes_.end(),
                                   [&](const auto& axis) { return axis.first == atoms_[i].name; });
    if (!named) axes_.emplace_back(atoms_[i].name, MeshSubAxes(1, static_cast<AtomId>(i)));
  }
}

MeshSubAxes Mesh::axis(std::string_view name) const {
  const auto found = std::find_if(axes_.begin(), axes_.end(),
                                  [&](const auto& axis) { return axis.first == name; });
  if (found == axes_.end()) return {};
  MeshSubAxes out;
  for (const AtomId atom : found->second) {
    if (atoms_[atom].size > 1) out.push_back(atom);
  }
  return out;
}

int Mesh::size(std::span<const AtomId> atoms) const {
  int gemm = 1;
  for (const AtomId atom : atoms) gemm *= atoms_[atom].size;
  return gemm;
}

int Mesh::reflected(int rank) const {
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    if (!atoms_[i].mirrored || rank / strides_[i + 1] % 2 == 0) continue;
    const int digit = rank / strides_[i] % atoms_[i].size;
    rank += (atoms_[i].size - 1 - 2 * digit) * strides_[i];
  }
  return rank;
}

int Mesh::coordinate(int rank, std::span<const AtomId> atoms) const {
  rank = reflected(rank);
  int position = 0;
  for (const AtomId atom : atoms) {
    position = position * atoms_[atom].size + rank / strides_[atom] % atoms_[atom].size;
  }
  return position;
}

int Mesh::moved(int rank, std::span<const AtomId> atoms, int position) const {
  rank = reflected(rank);
  for (std::size_t i = atoms.size(); i-- > 0;) {
    const AtomId atom = atoms[i];
    const int digit = rank / strides_[atom] % atoms_[atom].size;
    rank += (position % atoms_[atom].size - digit) * strides_[atom];
    position /= atoms_[atom].size;
  }
  return reflected(rank);
}

std::vector<int> Mesh::members(int rank, std::span<const AtomId> atoms) const {
  std::vector<int> out(static_cast<std::size_t>(size(atoms)));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = moved(rank, atoms, static_cast<int>(i));
  return out;
}

std::string Mesh::name(std::span<const AtomId> atoms) const {
  for (const auto& [name, unused] : axes_) {
    const MeshSubAxes members = axis(name);
    if (std::is_permutation(members.begin(), members.end(), atoms.begin(), atoms.end())) {
      return name;
    }
  }
  std::string out;
  for (const AtomId atom : atoms) out += (out.empty() ? "" : "_") + atoms_[atom].name;
  return out;
}

}  // namespace lockstep
