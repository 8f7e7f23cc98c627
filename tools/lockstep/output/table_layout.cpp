#include "tools/lockstep/output/table_layout.hpp"

#include <algorithm>
#include <utility>

#include "tools/lockstep/output/table.hpp"
#include "tools/lockstep/terminal/text_width.hpp"

namespace lockstep::cli {

namespace {

/// Wrapped columns are not made narrower than this for lack of space.
constexpr std::size_t kNarrowest = 24;
constexpr std::size_t kNarrowestCut = 12;  // of texts that end with an ellipsis
/// The same where all that may be left out is, and other columns of text wrap too.
constexpr std::size_t kTight = 10;
constexpr std::size_t kTightCut = 8;

/// Columns with a heading: those of `first_in_tables`, then the others.
std::vector<std::size_t> ordered(const Report& report) {
  std::vector<std::size_t> out;
  const std::vector<std::size_t> all = visible(report);
  for (const std::string& key : report.first_in_tables)
    for (const std::size_t i : all)
      if (report.columns[i].key == key) out.push_back(i);
  for (const std::size_t i : all)
    if (std::find(out.begin(), out.end(), i) == out.end()) out.push_back(i);
  return out;
}

std::size_t column_width(const Report& report, std::size_t i, std::size_t limit) {
  const Column& column = report.columns[i];
  std::size_t out = std::max(width_of(column.heading), width_of(column.unit));
  for (const Section& section : report.sections)
    for (const auto& row : section.rows) {
      if (i >= row.size()) continue;
      for (const std::string& line : wrapped(shown(row[i]), limit))
        out = std::max(out, width_of(line));
    }
  return out;
}

class LayoutSearch {
 public:
  LayoutSearch(const Report& report, std::size_t width) : report_{report}, width_{width} {
    out_.columns = ordered(report);
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      out_.limits.push_back(report.columns[i].most_width);
      out_.widths.push_back(column_width(report, i, out_.limits.back()));
    }
  }

  [[nodiscard]] TableLayout everything() { return std::move(out_); }

  [[nodiscard]] TableLayout fitting() {
    const std::vector<std::size_t> all = out_.columns;
    for (const std::string& key : report_.only_wide) drop(key);
    for (const std::string& key : report_.left_out_first) {
      if (fits(narrowed(false))) break;
      drop(key);
    }
    out_ = narrowed(false);
    if (!fits(out_)) out_ = narrowed(true);
    for (const std::size_t i : all)
      if (std::find(out_.columns.begin(), out_.columns.end(), i) == out_.columns.end())
        out_.hidden.push_back(i);
    return std::move(out_);
  }

 private:
  [[nodiscard]] static std::size_t total(const TableLayout& layout) {
    std::size_t out = kTableIndent;
    for (const std::size_t i : layout.columns) out += layout.widths[i] + kColumnGap;
    return layout.columns.empty() ? out : out - kColumnGap;
  }

  [[nodiscard]] bool fits(const TableLayout& layout) const { return total(layout) <= width_; }

  /// Names at the left are never cut.
  [[nodiscard]] bool may_wrap(std::size_t i, bool tight) const {
    return out_.limits[i] > 0 || (tight && !report_.one_line && report_.columns[i].left);
  }

  /// With wrapped columns as narrow as needed, the widest first.
  [[nodiscard]] TableLayout narrowed(bool tight) const {
    TableLayout out = out_;
    std::vector<std::size_t> candidates;
    for (const std::size_t i : out.columns)
      if (may_wrap(i, tight)) candidates.push_back(i);
    while (!fits(out) && !candidates.empty()) {
      const auto widest = std::max_element(
          candidates.begin(), candidates.end(),
          [&](std::size_t a, std::size_t b) { return out.widths[a] < out.widths[b]; });
      const std::size_t i = *widest;
      const std::size_t width = out.widths[i];
      const std::size_t excess = total(out) - width_;
      const std::size_t least =
          report_.one_line ? (tight ? kTightCut : kNarrowestCut) : (tight ? kTight : kNarrowest);
      const std::size_t limit = std::max(least, width > excess ? width - excess : 0);
      const std::size_t reached = column_width(report_, i, limit);
      if (reached < width) {
        out.limits[i] = limit;
        out.widths[i] = reached;
      } else {
        candidates.erase(widest);  // its words are as long
      }
    }
    return out;
  }

  void drop(const std::string& key) {
    std::erase_if(out_.columns, [&](std::size_t i) { return report_.columns[i].key == key; });
  }

  const Report& report_;
  std::size_t width_;
  TableLayout out_;
};

}  // namespace

TableLayout layout_of(const Report& report, const OutputStyle& style) {
  LayoutSearch search(report, style.width);
  return style.wide || style.width == 0 ? search.everything() : search.fitting();
}

}  // namespace lockstep::cli
