#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tools/lockstep/run/run_tables.hpp"
#include "tools/lockstep/run/text/aligned.hpp"
#include "tools/lockstep/terminal/text_width.hpp"

/// Tables of a run as text and as Markdown.
namespace lockstep::cli {

namespace {

constexpr std::size_t kNarrowestNames = 24;

std::string line_of(const std::string& lead, const std::vector<std::string>& cells,
                    const std::vector<std::size_t>& widths, bool words) {
  std::string out = lead;
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += (i == 0 ? "" : "  ") + padded(cells[i], widths[i], i == 0 || words);
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::vector<std::size_t> widths_of(const RunTable& table) {
  std::vector<std::size_t> widths;
  for (const std::string& heading : table.headings) widths.push_back(width_of(heading));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  return widths;
}

/// The table without its columns that are left out for lack of room, which are named below it.
RunTable fitted(RunTable table, const OutputStyle& style) {
  std::vector<std::string> hidden;
  std::vector<std::size_t> first = table.left_out_first;
  const auto total = [&table] {
    std::size_t out = 0;
    for (const std::size_t width : widths_of(table)) out += width + 2;
    return out;
  };
  while (!first.empty() && style.width > 0 && !style.wide && total() > style.width) {
    const auto at = static_cast<std::ptrdiff_t>(first.front());
    hidden.push_back(table.headings[first.front()]);
    table.headings.erase(table.headings.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
    first.erase(first.begin());  // later ones stand before it
  }
  if (!hidden.empty()) table.footer = fmt::format("--wide shows: {}", fmt::join(hidden, ", "));
  return table;
}

/// How wide names may be for the rest of a row to fit; 0: as wide as they are.
std::size_t most_of_names(const std::vector<std::size_t>& widths, const OutputStyle& style) {
  if (!style.wraps_notes || style.wide) return 0;
  std::size_t taken = 2;
  for (std::size_t i = 1; i < widths.size(); ++i) taken += widths[i] + 2;
  return std::max(kNarrowestNames, style.width > taken ? style.width - taken : 0);
}

/// Rows of a name and numbers, which stand next to the first line of a wrapped name.
std::string rows_of_numbers(const RunTable& table, std::vector<std::size_t> widths,
                            const OutputStyle& style) {
  const std::size_t most = most_of_names(widths, style);
  if (most > 0) widths[0] = std::min(widths[0], most);
  std::string out;
  for (std::vector<std::string> row : table.rows) {
    const bool fits = width_of(row[0]) <= widths[0];
    const std::vector<std::string> name = wrapped(row[0], fits ? 0 : widths[0] - 2);
    row[0] = name.front();
    out += line_of("  ", row, widths, false);
    for (std::size_t i = 1; i < name.size(); ++i) out += "    " + name[i] + "\n";
  }
  return out;
}

/// Rows of a name and words: the words are wrapped next to the name.
std::string rows_of_words(const RunTable& table, const std::vector<std::size_t>& widths,
                          const OutputStyle& style) {
  const std::size_t taken = widths[0] + 4;
  const bool wraps = style.wraps_notes && !style.wide && style.width > taken + 20;
  std::string out;
  for (const auto& row : table.rows) {
    std::string name = row[0];
    for (const std::string& line : wrapped(row[1], wraps ? style.width - taken : 0))
      out += line_of("  ", {std::exchange(name, ""), line}, widths, true);
  }
  return out;
}

std::string text_of_table(const RunTable& whole, const OutputStyle& style) {
  const RunTable table = fitted(whole, style);
  const auto widths = widths_of(table);
  std::string out;
  for (const std::string& note : table.notes) out += "# " + note + "\n";
  if (table.headings.size() > 3) out += line_of("# ", table.headings, widths, false);
  if (table.headings.size() == 2) {
    out += rows_of_words(table, widths, style);
  } else {
    out += rows_of_numbers(table, widths, style);
  }
  if (!table.footer.empty()) out += "# " + table.footer + "\n";
  return out;
}

std::string row_in_markdown(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace

std::string text_of(const std::vector<RunTable>& tables, const OutputStyle& style) {
  std::string out;
  for (const RunTable& table : tables) {
    if (!out.empty()) out += "#\n";
    out += text_of_table(table, style);
  }
  return style.wraps_notes && !style.wide ? with_wrapped_notes(out, style.width) : out;
}

std::string markdown_of(const std::vector<RunTable>& tables) {
  std::string out;
  for (const RunTable& table : tables) {
    if (!out.empty()) out += "\n";
    for (const std::string& note : table.notes) out += note + "\n\n";
    out += row_in_markdown(table.headings);
    out += "|---|";
    for (std::size_t i = 1; i < table.headings.size(); ++i) out += "---:|";
    out += "\n";
    for (const auto& row : table.rows) out += row_in_markdown(row);
    if (!table.footer.empty()) out += "\n" + table.footer + "\n";
  }
  return out;
}

}  // namespace lockstep::cli
