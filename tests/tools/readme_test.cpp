#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

/// A command that README.md or a file of docs shows.
struct Shown {
  std::string file;
  std::string command;
  int status = 0;           // "<!-- exit code 1 -->" before it
  bool not_run = false;     // "<!-- not run: why -->" before it
  bool has_output = false;  // the file shows what it prints
  std::size_t lines = 0;    // only the first lines are shown; 0: all
  std::string output{};
};

std::vector<std::string> documents() {
  const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;
  std::vector<std::string> out{(root / "README.md").string()};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

void read_document(const std::string& file, std::vector<Shown>& out) {
  static const std::regex begin{
      "<!-- (first ([0-9]+) lines of the )?output of the command above: begin -->"};
  static const std::regex status{"<!-- exit code ([0-9]+) -->"};
  Shown next;
  bool inside = false;
  for (const std::string& line : lines_of(text_of(file))) {
    std::smatch match;
    if (line == "<!-- output of the command above: end -->") inside = false;
    if (inside) out.back().output += line + "\n";
    if (std::regex_match(line, match, status)) next.status = std::stoi(match[1]);
    if (line.rfind("<!-- not run: ", 0) == 0) next.not_run = true;
    if (line.rfind("    lockstep ", 0) == 0) {
      next.file = file;
      next.command = line.substr(4);
      out.push_back(next);
      next = {};
    }
    if (!std::regex_match(line, match, begin)) continue;
    inside = true;
    out.back().has_output = true;
    if (match[2].matched) out.back().lines = std::stoul(match[2]);
  }
}

std::vector<Shown> shown_in_documents() {
  std::vector<Shown> out;
  for (const std::string& file : documents()) read_document(file, out);
  return out;
}

std::string first_lines(const std::string& text, std::size_t number) {
  if (number == 0) return text;
  std::string out;
  for (const std::string& line : lines_of(text)) {
    if (number-- == 0) break;
    out += line + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("README and docs show what their commands print") {
  const auto all = shown_in_documents();
  CHECK(std::count_if(all.begin(), all.end(), [](const Shown& it) { return it.has_output; }) >= 10);
  for (const Shown& shown : all) {
    if (!shown.has_output) continue;
    CAPTURE(shown.file);
    CAPTURE(shown.command);
    INFO(
        "tools/refresh_readme.sh writes what build/release/lockstep prints into README.md and "
        "docs");
    CHECK(shown.output ==
          "```text\n" + first_lines(output_of(shown.command), shown.lines) + "```\n");
  }
}

TEST_CASE("README fits on three screens") {
  // About fifty lines each.
  CHECK(lines_of(text_of((std::filesystem::path{LOCKSTEP_SOURCE_DIR} / "README.md").string()))
            .size() <= 160);
}

TEST_CASE("every other command of README and docs ends as it says") {
  for (const Shown& shown : shown_in_documents()) {
    if (shown.has_output || shown.not_run) continue;
    CAPTURE(shown.file);
    CAPTURE(shown.command);
    const CommandResult result = run_command(shown.command);
    CAPTURE(result.err);
    CHECK(result.status == shown.status);
  }
}

TEST_CASE("links between README and docs lead to files") {
  static const std::regex link{R"(\]\(([^)#: ]+)(#[^)]*)?\))"};
  for (const std::string& file : documents()) {
    const std::string text = text_of(file);
    for (std::sregex_iterator it{text.begin(), text.end(), link}; it != std::sregex_iterator{};
         ++it) {
      CAPTURE(file);
      const auto target = std::filesystem::path{file}.parent_path() / (*it)[1].str();
      CAPTURE(target.string());
      CHECK(std::filesystem::exists(target));
    }
  }
}

}  // namespace lockstep
