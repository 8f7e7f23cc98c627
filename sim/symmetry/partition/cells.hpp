#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/reuse/key.hpp"

namespace lockstep::fold {

/// A partition of the vertices 0 .. n-1 into cells that are only ever split; vertices of a cell are
/// adjacent in one array (Paige and Tarjan 1987). A split cell is queued as a splitter of others,
/// except its largest part, which bounds the total work by n log n (Hopcroft 1971).
class Cells {
 public:
  using Vertex = std::uint32_t;
  using CellId = std::uint32_t;

  /// Vertices with equal keys start in one cell.
  explicit Cells(std::span<const Key> keys);

  [[nodiscard]] std::size_t count() const { return cells_.size(); }
  [[nodiscard]] CellId cell_of(Vertex vertex) const { return cell_of_[vertex]; }
  [[nodiscard]] std::span<const Vertex> members(CellId cell) const {
    return std::span{order_}.subspan(cells_[cell].first, cells_[cell].size);
  }

  /// The next splitter; none: the partition is stable.
  [[nodiscard]] std::optional<CellId> next();
  /// Adds `weight` > 0 to a vertex's count for the current splitter.
  void count(Vertex vertex, std::uint64_t weight) {
    if (counted_[vertex] == 0) touched_.push_back(vertex);
    counted_[vertex] += weight;
  }
  /// Splits all cells whose vertices have different counts, and resets the counts.
  void split();

 private:
  struct Cell {
    std::uint32_t first = 0;
    std::uint32_t size = 0;
    std::uint32_t touched = 0;  // vertices with a count
    std::uint32_t moved = 0;    // of these, moved to the end of the cell
    std::uint64_t counted = 0;  // count of the first of them
    bool alike = true;          // all of them have that count
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
