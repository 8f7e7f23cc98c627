#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

/// A factor of the number of ranks. Axes that users name are lists of atoms, because some cut
/// through others: expert parallelism divides dp * cp, a 2D sequence group is ulysses * ring.
using AtomId = std::uint8_t;
using MeshSubAxes = std::vector<AtomId>;  // outermost (slowest) first

/// How ranks are numbered: one digit per atom. Immutable once built.
class Mesh {
 public:
  struct Atom {
    std::string name;
    int size = 1;
  };
  /// `atoms`: innermost first, that is, neighbouring ranks differ in the first. `axes`: names for
  /// lists of atoms, outermost first, such as dp, cp, ep, edp; an atom's own name is an axis too.
  explicit Mesh(std::vector<Atom> atoms = {},
                std::vector<std::pair<std::string, MeshSubAxes>> axes = {});

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<Atom>& atoms() const { return atoms_; }
  /// In the order in which they were given, those with a name of their own first.
  [[nodiscard]] const std::vector<std::pair<std::string, MeshSubAxes>>& axes() const {
    return axes_;
  }
  /// Empty where there is no such axis, or where it has one member only.
  [[nodiscard]] MeshSubAxes axis(std::string_view name) const;
  /// Gemm of the sizes; 1 of none.
  [[nodiscard]] int size(std::span<const AtomId> atoms) const;
  /// Position of a rank along some atoms taken together, outermost first.
  [[nodiscard]] int coordinate(int rank, std::span<const AtomId> atoms) const;
  /// The rank whose position along `atoms` is `position`, and that is else where `rank` is.
  [[nodiscard]] int moved(int rank, std::span<const AtomId> atoms, int position) const;
  /// All ranks that differ from `rank` along `atoms` alone, by their position there.
  [[nodiscard]] std::vector<int> members(int rank, std::span<const AtomId> atoms) const;
  /// The name of these atoms as a group: that of an axis made of the same atoms, else the names
  /// of the atoms joined by underscores, such as dp_cp.
  [[nodiscard]] std::string name(std::span<const AtomId> atoms) const;

 private:
  std::vector<Atom> atoms_;
  std::vector<int> strides_;
  std::vector<std::pair<std::string, MeshSubAxes>> axes_;
  int ranks_ = 1;
};

}  // namespace lockstep
