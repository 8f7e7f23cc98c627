#include "tools/lockstep/report/html_page.hpp"

#include <fmt/format.h>

#include "tools/figures/svg.hpp"
#include "tools/lockstep/report/page_script.hpp"

namespace lockstep::cli {

namespace {

/// Colors of both schemes reach 4.5:1 on their grounds. Figures are drawn on white in both.
constexpr std::string_view kStyle = R"(:root {
  color-scheme: light dark;
  --ground: #ffffff; --text: #1c1c1c; --soft: #555555; --line: #d4d4d4; --card: #f5f6f8;
  --link: #0b5cad;
}
@media (prefers-color-scheme: dark) {
  :root { --ground: #16181c; --text: #ececec; --soft: #b4b8bf; --line: #3a3f47; --card: #20242a;
    --link: #8cc2ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem 1rem 3rem; max-width: 68rem; background: var(--ground);
  color: var(--text); font: 1rem/1.5 system-ui, "Liberation Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; border-bottom: 1px solid var(--line); }
.lead { color: var(--soft); margin: 0 0 1rem; overflow-wrap: anywhere; }
a { color: var(--link); }
a:focus-visible, .wide:focus-visible, figure:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; padding: 0;
  margin: 1rem 0 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .8rem;
  margin: 0 0 1rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  padding: .7rem .9rem; }
.card dt { color: var(--soft); font-size: .85rem; }
.card dd { margin: 0; }
.card dd:first-of-type { font-size: 1.1rem; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .3rem 0; }
caption { text-align: left; color: var(--soft); padding-bottom: .2rem; }
th, td { padding: .15rem 1.2rem .15rem 0; text-align: right; border-bottom: 1px solid var(--line);
  white-space: pre; font-weight: normal; }
thead th { color: var(--soft); font-size: .85rem; }
tbody th, thead th:first-child { text-align: left; }
td.words, th.words { text-align: left; }
td.long { white-space: normal; min-width: 16rem; overflow-wrap: break-word; }
main > h2 { margin-top: 1.1rem; }
main > ol { margin: .4rem 0; padding-left: 1.6rem; }
figure { margin: .8rem 0 .6rem; padding: .5rem; background: #ffffff; border: 1px solid var(--line);
  border-radius: .4rem; overflow-x: auto; }
figure svg { display: block; max-width: 100%; min-width: 36rem; height: auto; }
section figure svg { width: 100%; }
.note, footer { color: var(--soft); font-size: .9rem; overflow-wrap: anywhere; }
.note { margin: .2rem 0; }
code { font: .9em/1.4 ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; white-space: pre-wrap; }
.live-panel { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .6rem .9rem; }
#timeline-view { position: relative; background: #ffffff; border: 1px solid #8a8a8a; border-radius: .4rem; }
#timeline-view canvas { display: block; width: 100%; touch-action: pan-y; }
#timeline-view canvas:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.tools { display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; margin: .4rem 0; }
.tools button { font: inherit; font-size: .9rem; padding: .1rem .6rem; background: var(--card); color: var(--text);
  border: 1px solid var(--soft); border-radius: .3rem; cursor: pointer; }
.over-time input { flex: 1 1 12rem; min-width: 8rem; max-width: 30rem; accent-color: var(--link); }
.over-time output { font-size: .9rem; font-variant-numeric: tabular-nums; }
.tools button:hover, .tools button:focus-visible { outline: 2px solid var(--link); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; list-style: none; padding: 0; margin: .3rem 0; font-size: .85rem; }
.legend canvas { vertical-align: middle; margin-right: .3rem; border: 1px solid #8a8a8a; }
#selection dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0; }
#selection dt { color: var(--soft); }
#selection dd { margin: 0; overflow-wrap: anywhere; }
.reader { min-height: 1.4em; color: var(--text); font-size: .9rem; margin: -.3rem 0 .6rem; }
.reader.idle { color: var(--soft); font-size: .8rem; }
tr[aria-current] { background: var(--card); font-weight: bold; }
tr[aria-current] th::before { content: "\25B6  "; }
.live figure [data-read] { cursor: crosshair; }
.marker { pointer-events: none; }
dialog { max-width: 40rem; background: var(--ground); color: var(--text); border: 1px solid var(--soft); border-radius: .4rem; }
dialog kbd { border: 1px solid var(--soft); border-radius: .2rem; padding: 0 .3rem; }
.cards ~ .reader.idle { display: none; }
@media screen and (min-width: 1900px) {
  html { font-size: 22px; }
  body { max-width: 80rem; }
  main > figure svg { width: 75%; }
  .pair, .figures { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1rem; }
  .pair > div, .figures > div { min-width: 0; }
  .figures svg { width: 100%; }
}
@page { margin: 12mm; }
@media print {
  :root { --ground: #ffffff; --text: #1c1c1c; --soft: #555555; --line: #d4d4d4; --card: #f5f6f8;
    --link: #0b5cad; color-scheme: light; }
  .wide { overflow: visible; }
  table { font-size: 8pt; }
  th, td { padding-right: .4rem; white-space: normal; }
  .live-only, dialog, .marker { display: none !important; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  figure, tr, .card { break-inside: avoid; }
  figure svg { min-width: 0; }
  h2 { break-after: avoid; }
}
)";

/// Longer words wrap.
constexpr std::size_t kLongWords = 32;

std::string cell_of(const std::string& text, bool words) {
  std::string_view kind;
  if (words) kind = text.size() > kLongWords ? " class=\"words long\"" : " class=\"words\"";
  return fmt::format("<td{}>{}</td>", kind, html_text(text));
}

std::string row_of(const HtmlTable& table, const std::vector<std::string>& cells) {
  std::string out = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", html_text(cells[i]))
                  : cell_of(cells[i], i < table.words.size() && table.words[i]);
  return out + "</tr>\n";
}

std::string paragraphs(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines)
    if (!line.empty()) out += fmt::format("<p class=\"note\">{}</p>\n", html_text(line));
  return out;
}

}  // namespace

std::string html_text(std::string_view text) {
  return figures::xml_text(text);
}

std::string html_of(const HtmlTable& table) {
  std::string out = paragraphs(table.notes);
  // Scrolled sideways on narrow screens, also by keyboard.
  out += fmt::format(
      "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\n"
      "<table>\n<caption>{0}</caption>\n",
      html_text(table.caption));
  out += "<thead><tr>";
  for (std::size_t i = 0; i < table.headings.size(); ++i) {
    const bool words = i < table.words.size() && table.words[i];
    out += table.headings[i].empty()
               ? "<td></td>"
               : fmt::format("<th scope=\"col\"{}>{}</th>", words ? " class=\"words\"" : "",
                             html_text(table.headings[i]));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) out += row_of(table, row);
  out += "</tbody>\n</table>\n</div>\n";
  return out + paragraphs(table.closing);
}

std::string html_figure(const std::string& svg, std::string_view description) {
  const std::size_t begin = svg.find("<svg ");
  const std::string whole = svg.substr(begin == std::string::npos ? 0 : begin);
  return fmt::format("<figure role=\"group\" tabindex=\"0\" aria-label=\"{}\">\n{}</figure>\n",
                     html_text(description), whole);
}

std::string html_of(const HtmlPage& page) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src '{4}'\">\n"
      "<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n<header>\n<h1>{0}</h1>\n"
      "<p class=\"lead\">{2}</p>\n</header>\n<main>\n{3}",
      html_text(page.title), kStyle, html_text(page.lead), page.first, report_script().hash);
  out += "<nav aria-label=\"Sections\"><ul>\n";
  for (const HtmlSection& section : page.sections)
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, html_text(section.heading));
  out += "</ul></nav>\n";
  for (const HtmlSection& section : page.sections)
    out +=
        fmt::format("<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n{2}</section>\n",
                    section.id, html_text(section.heading), section.html);
  out += "</main>\n<footer>\n";
  for (const std::string& line : page.closing) out += fmt::format("<p>{}</p>\n", html_text(line));
  out += "</footer>\n";
  if (!page.data.empty())
    out += fmt::format("<script type=\"text/plain\" id=\"data\">{}</script>\n", page.data);
  return out + fmt::format("<script>{}</script>\n</body>\n</html>\n", report_script().text);
}

std::size_t size_of(const HtmlPage& page) {
  return html_of(page).size() - report_script().text.size();
}

}  // namespace lockstep::cli
