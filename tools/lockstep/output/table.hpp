#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/lockstep/output/output.hpp"

/// Tables for people: aligned text, as wide as the terminal allows.
namespace lockstep::cli {

/// The value as CSV has it.
[[nodiscard]] std::string plain(const Cell& cell);

/// The text that tables show.
[[nodiscard]] std::string shown(const Cell& cell);

/// Indices of the columns with a heading.
[[nodiscard]] std::vector<std::size_t> visible(const Report& report);

/// Aligned columns below their headings; notes are comments. A table wider than `style.width`
/// first wraps columns that may be wrapped, then leaves columns out by priority, and names them.
[[nodiscard]] std::string render_table(const Report& report, const OutputStyle& style);

}  // namespace lockstep::cli
