#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Pages of one file: nothing loaded from elsewhere, readable on paper and without their script.
namespace lockstep::cli {

/// Text as content or as an attribute of HTML: markup escaped.
[[nodiscard]] std::string html_text(std::string_view text);

/// A table of text, whose first column names the row.
struct HtmlTable {
  std::string caption;
  std::vector<std::string> notes{};  // before it
  std::vector<std::string> headings{};
  std::vector<bool> words{};  // by column: words, aligned left; others are numbers. May be shorter.
  std::vector<std::vector<std::string>> rows{};
  std::vector<std::string> closing{};  // after it
};

[[nodiscard]] std::string html_of(const HtmlTable& table);

/// A figure as SVG, with what it shows for readers who do not see it.
[[nodiscard]] std::string html_figure(const std::string& svg, std::string_view description);

struct HtmlSection {
  std::string id;  // of links to it
  std::string heading;
  std::string html;
};

struct HtmlPage {
  std::string title;
  std::string lead;   // what was simulated and the result, in a sentence
  std::string first;  // HTML of the first screen
  std::vector<HtmlSection> sections{};
  std::vector<std::string> closing{};  // lines at the end: command, version, fingerprint
  std::string data{};                  // packed() for the script; empty: none
};

[[nodiscard]] std::string html_of(const HtmlPage& page);
/// Bytes of the page without the script that all pages have.
[[nodiscard]] std::size_t size_of(const HtmlPage& page);

}  // namespace lockstep::cli
