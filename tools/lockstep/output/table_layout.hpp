#pragma once

#include <cstddef>
#include <vector>

#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// The columns of a table, as they fit into a width.
struct TableLayout {
  std::vector<std::size_t> columns;  // shown, from left to right
  std::vector<std::size_t> hidden;   // left out, in the order of --wide
  std::vector<std::size_t> limits;   // of every column of the report: wrapped beyond; 0: never
  std::vector<std::size_t> widths;   // of every column of the report
};

/// Indentation of a table, and spaces between its columns.
inline constexpr std::size_t kTableIndent = 2;
inline constexpr std::size_t kColumnGap = 2;

[[nodiscard]] TableLayout layout_of(const Report& report, const OutputStyle& style);

}  // namespace lockstep::cli
