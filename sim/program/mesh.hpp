#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

/// A mesh sub-axis: a factor of the number of ranks. Named axes are lists of sub-axes, because some
/// overlap: expert parallelism divides dp * cp, a 2D sequence group is ulysses * ring.
using AtomId = std::uint8_t;
using MeshSubAxes = std::vector<AtomId>;  // outermost (slowest) first

/// The device mesh: a rank has one coordinate per sub-axis. Immutable.
class Mesh {
 public:
  struct Atom {
    std::string name;
    int size = 1;
    /// Its coordinate runs backwards where that of the next sub-axis outside, of 2, is 1: of 2 * n
    /// ranks in a row, i and 2 * n - 1 - i then differ along the outer one alone.
    bool mirrored = false;
  };
  /// `atoms`: innermost first, so neighboring ranks differ in the first. `axes`: names for lists of
  /// sub-axes, outermost first, such as dp, cp, ep, edp; a sub-axis's own name is an axis too.
  explicit Mesh(std::vector<Atom> atoms = {},
                std::vector<std::pair<std::string, MeshSubAxes>> axes = {});

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<Atom>& atoms() const { return atoms_; }
  /// In the given order, named sub-axes first.
  [[nodiscard]] const std::vector<std::pair<std::string, MeshSubAxes>>& axes() const {
    return axes_;
  }
  /// Empty if there is no such axis, or if its size is 1.
  [[nodiscard]] MeshSubAxes axis(std::string_view name) const;
  /// Product of the sizes; 1 for none.
  [[nodiscard]] int size(std::span<const AtomId> atoms) const;
  /// Coordinate of a rank along some sub-axes combined, outermost first.
  [[nodiscard]] int coordinate(int rank, std::span<const AtomId> atoms) const;
  /// The rank with coordinate `position` along `atoms` and otherwise the coordinates of `rank`.
  [[nodiscard]] int moved(int rank, std::span<const AtomId> atoms, int position) const;
  /// All ranks that differ from `rank` only along `atoms`, by their coordinate there.
  [[nodiscard]] std::vector<int> members(int rank, std::span<const AtomId> atoms) const;
  /// The name of these sub-axes as a group: that of an axis with the same sub-axes, else their
  /// names joined by underscores, such as dp_cp.
  [[nodiscard]] std::string name(std::span<const AtomId> atoms) const;

 private:
  /// The rank with these digits where no sub-axis is mirrored; its own inverse.
  [[nodiscard]] int reflected(int rank) const;

  std::vector<Atom> atoms_;
  std::vector<int> strides_;
  std::vector<std::pair<std::string, MeshSubAxes>> axes_;
  int ranks_ = 1;
};

}  // namespace lockstep
