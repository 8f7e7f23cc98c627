#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/symmetry/reuse/key.hpp"

namespace lockstep::fold {

/// A partition of the vertices 0 .. n-1 into cells that only ever get finer: those of one cell lie
/// side by side in one array (Paige and Tarjan 1987). A cell that has become finer waits in a queue
/// to split others; of its parts all but the largest do, which is what bounds the whole work by
/// n log n (Hopcroft 1971).
class Cells {
 public:
  using Vertex = std::uint32_t;
  using CellId = std::uint32_t;

  /// Vertices with equal keys begin in one cell.
  explicit Cells(std::span<const Key> keys);

  [[nodiscard]] std::size_t count() const { return cells_.size(); }
  [[nodiscard]] CellId cell_of(Vertex vertex) const { return cell_of_[vertex]; }
  [[nodiscard]] std::span<const Vertex> members(CellId cell) const {
    return std::span{order_}.subspan(cells_[cell].first, cells_[cell].size);
  }

  /// The next cell that others are to be compared with; none left: the partition is stable.
  [[nodiscard]] std::optional<CellId> next();
  /// Counts `weight` > 0 for a vertex against the cell at hand.
  void count(Vertex vertex, std::uint64_t weight) {
    if (counted_[vertex] == 0) touched_.push_back(vertex);
    counted_[vertex] += weight;
  }
  /// Parts all cells whose vertices have not counted alike, and forgets the counts.
  void split();

 private:
  struct Cell {
    std::uint32_t first = 0;
    std::uint32_t size = 0;
    std::uint32_t touched = 0;  // so many were counted
    std::uint32_t moved = 0;    // of these, so many stand last in the cell
    std::uint64_t counted = 0;  // by the first of them
    bool alike = true;          // as by the others
    bool waits = false;
  };

  void tally(Vertex vertex);
  [[nodiscard]] bool stays_whole(const Cell& cell) const {
    return cell.alike && cell.touched == cell.size;
  }
  void move_back(Vertex vertex);
  void split_cell(CellId cell);
  CellId cut(std::uint32_t first, std::uint32_t size);
  void queue(CellId cell);

  std::vector<Vertex> order_;           // cell by cell
  std::vector<std::uint32_t> place_;    // per vertex, in order_
  std::vector<CellId> cell_of_;         // per vertex
  std::vector<std::uint64_t> counted_;  // per vertex
  std::vector<Cell> cells_;
  std::vector<CellId> waiting_;
  std::vector<Vertex> touched_;
  std::vector<CellId> touched_cells_;
  std::vector<CellId> parts_;
};

}  // namespace lockstep::fold
