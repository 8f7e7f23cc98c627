#include "sim/symmetry/partition/cells.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace lockstep;

namespace {

/// Refines the path 0 - 1 - ... - n-1 until it is stable.
fold::Cells refined_path(std::uint32_t n) {
  const std::vector<fold::Key> keys(n);
  fold::Cells cells{keys};
  while (const auto cell = cells.next()) {
    const auto members = cells.members(*cell);
    const std::vector<std::uint32_t> own(members.begin(), members.end());
    for (const std::uint32_t v : own) {
      if (v > 0) cells.count(v - 1, 1);
      if (v + 1 < n) cells.count(v + 1, 1);
    }
    cells.split();
  }
  return cells;
}

}  // namespace

TEST_CASE("the vertices of a path are alike at equal distance from its ends") {
  for (const std::uint32_t n : {1U, 2U, 3U, 9U, 16U, 101U}) {
    CAPTURE(n);
    const fold::Cells cells = refined_path(n);
    CHECK(cells.count() == (n + 1) / 2);
    for (std::uint32_t v = 0; v < n; ++v) CHECK(cells.cell_of(v) == cells.cell_of(n - 1 - v));
  }
}

TEST_CASE("vertices with different keys never share a cell") {
  const std::vector<fold::Key> keys{{1, 0}, {2, 0}, {1, 0}, {1, 5}};
  const fold::Cells cells{keys};
  CHECK(cells.count() == 3);
  CHECK(cells.cell_of(0) == cells.cell_of(2));
}

TEST_CASE("what is counted differently parts, however often") {
  const std::vector<fold::Key> keys(4);
  fold::Cells cells{keys};
  cells.count(0, 7);
  cells.count(1, 7);
  cells.count(2, 9);
  cells.split();
  CHECK(cells.count() == 3);
  CHECK(cells.cell_of(0) == cells.cell_of(1));
  CHECK(cells.cell_of(0) != cells.cell_of(2));
  CHECK(cells.cell_of(0) != cells.cell_of(3));
}
