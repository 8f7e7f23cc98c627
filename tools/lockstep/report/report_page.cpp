#include "tools/lockstep/report/report_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/lockstep/output/table.hpp"
#include "tools/lockstep/output/version.hpp"
#include "tools/lockstep/report/html_page.hpp"

namespace lockstep::cli {

namespace {

std::string heading_of(const Column& column) {
  return column.unit.empty() ? column.heading : column.heading + " " + column.unit;
}

HtmlTable table_of(const Report& report, const Section& section) {
  HtmlTable out;
  if (!section.notes.empty()) {
    out.caption = section.notes.front();
    out.notes.assign(section.notes.begin() + 1, section.notes.end());
  }
  const std::vector<std::size_t> columns = visible(report);
  for (const std::size_t i : columns) {
    out.headings.push_back(heading_of(report.columns[i]));
    out.words.push_back(report.columns[i].left);
  }
  for (const auto& row : section.rows) {
    std::vector<std::string> cells;
    for (const std::size_t i : columns) cells.push_back(i < row.size() ? shown(row[i]) : "");
    out.rows.push_back(std::move(cells));
  }
  out.closing = section.closing;
  return out;
}

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

}  // namespace

std::string report_page(const Report& report, const std::vector<PageFigure>& figures) {
  HtmlPage page;
  page.title = title_of(report);
  page.lead = lead_of(report);
  for (const PageFigure& figure : figures)
    page.first += html_figure(figure.svg, figure.kind + " of the table below");
  std::string tables;
  for (const Section& section : report.sections) tables += html_of(table_of(report, section));
  page.sections = {
      {"results", "Results", std::move(tables)},
      {"configuration", "Configuration",
       fmt::format("<details><summary>As JSON</summary>\n<pre><code>{}</code></pre></details>\n",
                   html_text(report.config))}};
  page.closing = {fmt::format("lockstep {}, seed {}, fingerprint {}", kVersion, report.seed,
                              report.fingerprint)};
  return html_of(page);
}

}  // namespace lockstep::cli
