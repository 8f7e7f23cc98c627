#include "tools/lockstep/output/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tools/lockstep/output/table_layout.hpp"
#include "tools/lockstep/terminal/text_width.hpp"

namespace lockstep::cli {

namespace {

constexpr std::string_view kEllipsis = " ...";

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// Padded, the text itself in its color.
std::string cell_text(const std::string& text, std::size_t width, bool left, Emphasis emphasis,
                      bool color) {
  if (!color || emphasis == Emphasis::none || text.find_first_not_of(' ') == std::string::npos)
    return padded(text, width, left);
  const std::size_t own = width_of(text);
  const std::string space(width > own ? width - own : 0, ' ');
  const std::string colored = fmt::format("{}{}{}", begin_of(emphasis), text, kEndOfEmphasis);
  return left ? colored + space : space + colored;
}

/// One line per column: what it is, then the value with its unit.
std::string render_upright(const Report& report, const OutputStyle& style) {
  std::size_t width = 0;
  for (const Column& column : report.columns) width = std::max(width, width_of(column.heading));
  const std::size_t space = style.width > width + 2 * kColumnGap + kTableIndent
                                ? style.width - width - kColumnGap - kTableIndent
                                : 0;
  std::string out;
  for (const Section& section : report.sections) {
    if (&section != &report.sections.front()) out += "#\n";
    for (const std::string& note : section.notes) out += "# " + note + "\n";
    for (const auto& row : section.rows)
      for (const std::size_t i : visible(report)) {
        std::string heading = report.columns[i].heading;
        const std::size_t most = report.columns[i].most_width;
        const bool shrinks = most > 0 && space > 0 && !style.wide;
        for (const std::string& line :
             wrapped(shown(row[i]), shrinks ? std::min(most, space) : most))
          out += "  " + padded(std::exchange(heading, ""), width, true) + "  " + line + "\n";
      }
  }
  for (const std::string& note : report.footer) out += "# " + note + "\n";
  return out;
}

class TableText {
 public:
  TableText(const Report& report, const OutputStyle& style)
      : report_{report}, style_{style}, layout_{layout_of(report, style)} {}

  [[nodiscard]] std::string text() const {
    std::string out;
    for (const Section& section : report_.sections) {
      const bool first = &section == &report_.sections.front();
      if (!first) out += "#\n";
      for (const std::string& note : section.notes) out += "# " + note + "\n";
      if (first) out += headings();
      for (const auto& row : section.rows) out += row_text(row);
      for (const std::string& note : section.closing) out += "# " + note + "\n";
    }
    out += hidden_columns();
    if (has_cut()) out += fmt::format("# --wide or {} shows the whole text\n", report_.whole_entry);
    for (const std::string& note : report_.footer) out += "# " + note + "\n";
    return out;
  }

 private:
  template <typename TextOf>
  [[nodiscard]] std::string heading_line(const TextOf& text_of) const {
    std::string out = "# ";
    for (const std::size_t i : layout_.columns)
      out += (i == layout_.columns.front() ? "" : "  ") +
             padded(text_of(i), layout_.widths[i], report_.columns[i].left);
    return trimmed(out);
  }

  [[nodiscard]] std::string headings() const {
    std::string out = heading_line([&](std::size_t i) { return report_.columns[i].heading; });
    const bool units = std::any_of(layout_.columns.begin(), layout_.columns.end(),
                                   [&](std::size_t i) { return !report_.columns[i].unit.empty(); });
    if (units) out += heading_line([&](std::size_t i) { return report_.columns[i].unit; });
    return out;
  }

  [[nodiscard]] bool cuts() const { return report_.one_line && !style_.wide && style_.width > 0; }

  [[nodiscard]] std::vector<std::string> lines_of(const std::string& text, std::size_t i) const {
    std::vector<std::string> lines = wrapped(text, layout_.limits[i]);
    if (!cuts() || lines.size() == 1) return lines;
    const std::size_t most = std::max(layout_.widths[i], kEllipsis.size() + 1) - kEllipsis.size();
    return {wrapped(text, most).front() + std::string{kEllipsis}};
  }

  /// Whether a text of the table is cut.
  [[nodiscard]] bool has_cut() const {
    if (!cuts()) return false;
    for (const Section& section : report_.sections)
      for (const auto& row : section.rows)
        for (const std::size_t i : layout_.columns)
          if (wrapped(shown(row[i]), layout_.limits[i]).size() > 1) return true;
    return false;
  }

  /// As many lines as the longest cell has.
  [[nodiscard]] std::string row_text(const std::vector<Cell>& row) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (const std::size_t i : layout_.columns) {
      cells.push_back(lines_of(shown(row[i]), i));
      height = std::max(height, cells.back().size());
    }
    std::string out;
    for (std::size_t at = 0; at < height; ++at) {
      std::string line = " ";
      for (std::size_t c = 0; c < cells.size(); ++c) {
        const std::size_t i = layout_.columns[c];
        line += (c == 0 ? " " : "  ") + cell_text(at < cells[c].size() ? cells[c][at] : "",
                                                  layout_.widths[i], report_.columns[i].left,
                                                  row[i].emphasis, style_.color);
      }
      out += trimmed(line);
    }
    return out;
  }

  /// "--wide shows: count, type", nothing if all columns are shown.
  [[nodiscard]] std::string hidden_columns() const {
    if (layout_.hidden.empty()) return {};
    std::vector<std::string> names;
    for (const std::size_t i : layout_.hidden) names.push_back(report_.columns[i].heading);
    std::string out;
    const std::string text = fmt::format("--wide shows: {}", fmt::join(names, ", "));
    for (const std::string& line :
         wrapped(text, style_.width - std::min<std::size_t>(style_.width, 4)))
      out += (out.empty() ? "# " : "#   ") + line + "\n";
    return out;
  }

  const Report& report_;
  const OutputStyle& style_;
  TableLayout layout_;
};

}  // namespace

std::string render_table(const Report& report, const OutputStyle& style) {
  const std::string text =
      report.upright ? render_upright(report, style) : TableText(report, style).text();
  return style.wraps_notes && !style.wide ? with_wrapped_notes(text, style.width) : text;
}

}  // namespace lockstep::cli
