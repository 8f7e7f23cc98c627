#include "tools/lockstep/report/report_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "tools/lockstep/output/table.hpp"
#include "tools/lockstep/output/version.hpp"
#include "tools/lockstep/report/html_page.hpp"

namespace lockstep::cli {

namespace {

std::string heading_of(const Column& column) {
  return column.unit.empty() ? column.heading : column.heading + " " + column.unit;
}

/// Which of `rows` rows stay if `most` may.
std::vector<std::size_t> kept_rows(std::size_t rows, std::size_t most, KeptRows kept) {
  std::vector<std::size_t> out(std::min(rows, most));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = kept == KeptRows::first || out.size() == rows || out.size() < 2
                 ? i
                 : i * (rows - 1) / (out.size() - 1);
  return out;
}

HtmlTable table_of(const Report& report, const Section& section, std::size_t most, KeptRows kept) {
  HtmlTable out;
  if (!section.notes.empty()) {
    out.caption = section.notes.front();
    out.notes.assign(section.notes.begin() + 1, section.notes.end());
  }
  std::vector<std::size_t> columns = visible(report);
  // Sections of one report may have columns of their own.
  if (report.sections.size() > 1 && !section.rows.empty())
    std::erase_if(columns, [&](std::size_t column) {
      return std::ranges::all_of(section.rows, [&](const std::vector<Cell>& row) {
        return column >= row.size() || shown(row[column]).empty();
      });
    });
  for (const std::size_t i : columns) {
    out.headings.push_back(heading_of(report.columns[i]));
    out.words.push_back(report.columns[i].left);
  }
  for (const std::size_t row : kept_rows(section.rows.size(), most, kept)) {
    std::vector<std::string> cells;
    for (const std::size_t i : columns)
      cells.push_back(i < section.rows[row].size() ? shown(section.rows[row][i]) : "");
    out.rows.push_back(std::move(cells));
  }
  out.closing = section.closing;
  if (out.rows.size() < section.rows.size())
    out.closing.push_back(
        fmt::format("{} {} of {} rows, to keep the page small; --format csv prints all.",
                    kept == KeptRows::first ? "The first" : "Evenly spaced,", out.rows.size(),
                    section.rows.size()));
  return out;
}

/// A page whose tables, configuration and figures are thinned until it fits.
class ThinnedPage {
 public:
  ThinnedPage(const Report& report, const std::vector<PageFigure>& figures, KeptRows kept,
              std::size_t budget)
      : report_{report}, drawn_{figures}, kept_{kept}, budget_{budget} {
    for (const Section& section : report.sections) rows_ = std::max(rows_, section.rows.size());
    sections_ = report.sections.size();
  }

  [[nodiscard]] std::string html() {
    HtmlPage out = page();
    while (size_of(out) > budget_ && thin()) out = page();
    return html_of(out);
  }

 private:
  static constexpr std::size_t kFewRows = 24;
  static constexpr std::size_t kSmallConfig = 20'000;

  /// Rows of long tables first, then tooltips, the configuration, more rows, tables, figures.
  bool thin() {
    if (rows_ > kFewRows * 8) return halve(rows_);
    if (!compact_) {
      compact_ = true;
      return figures_.thin() || thin();
    }
    if (has_config_ && report_.config.size() > kSmallConfig) {
      has_config_ = false;
      return true;
    }
    if (rows_ > kFewRows) return halve(rows_);
    if (sections_ > 1) return halve(sections_);
    if (figures_.thin()) return true;
    return rows_ > 1 && halve(rows_);
  }
  static bool halve(std::size_t& of) {
    of = (of + 1) / 2;
    return true;
  }

  [[nodiscard]] HtmlPage page();
  [[nodiscard]] std::string configuration() const {
    if (!has_config_)
      return "<p class=\"note\">Left out to keep the page small; --format json prints it.</p>\n";
    return fmt::format(
        "<details><summary>As JSON</summary>\n<pre><code>{}</code></pre></details>\n",
        html_text(report_.config));
  }

  const Report& report_;
  const std::vector<PageFigure>& drawn_;
  KeptRows kept_;
  std::size_t budget_;
  std::size_t rows_ = 0;      // of each table, at most
  std::size_t sections_ = 0;  // that are shown
  bool compact_ = false;
  bool has_config_ = true;
  PageFigures figures_{};
};

/// The first note of all says what was simulated.
std::string title_of(const Report& report) {
  for (const Section& section : report.sections)
    if (!section.notes.empty()) return section.notes.front();
  return report.schema;
}

/// The result in a sentence: the footer, else the second note.
std::string lead_of(const Report& report) {
  if (!report.footer.empty()) return fmt::format("{}", fmt::join(report.footer, ". "));
  for (const Section& section : report.sections)
    if (section.notes.size() > 1) return section.notes[1];
  return {};
}

HtmlPage ThinnedPage::page() {
  HtmlPage out;
  out.title = title_of(report_);
  out.lead = lead_of(report_);
  for (const PageFigure& figure : drawn_)
    out.first += fmt::format(
        "<div>\n{}</div>\n",
        figures_.html(figure.kind, figure.kind, figure.kind + " of the table below", figure.draw));
  if (!out.first.empty()) out.first = "<div class=\"figures\">\n" + out.first + "</div>\n";
  std::string tables;
  for (std::size_t i = 0; i < sections_; ++i)
    tables += html_of(table_of(report_, report_.sections[i], rows_, kept_));
  if (sections_ < report_.sections.size())
    tables += fmt::format(
        "<p class=\"note\">The first {} of {} tables, to keep the page small; --format csv prints "
        "all.</p>\n",
        sections_, report_.sections.size());
  out.sections = {{"results", "Results", std::move(tables)},
                  {"configuration", "Configuration", configuration()}};
  out.closing = {fmt::format("lockstep {}, seed {}, fingerprint {}", kVersion, report_.seed,
                             report_.fingerprint)};
  return out;
}

}  // namespace

std::string report_page(const Report& report, const std::vector<PageFigure>& figures, KeptRows kept,
                        std::size_t budget) {
  return ThinnedPage{report, figures, kept, budget}.html();
}

}  // namespace lockstep::cli
