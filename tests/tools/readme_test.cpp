#include <doctest/doctest.h>

#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

/// A command that the README shows, and what it says comes out.
struct Shown {
  std::string command;
  std::string output;
};

std::vector<Shown> shown_in_readme() {
  std::vector<Shown> out;
  std::string command;
  bool inside = false;
  for (const std::string& line :
       lines_of(text_of(std::string{LOCKSTEP_SOURCE_DIR} + "/README.md"))) {
    if (line.rfind("    lockstep ", 0) == 0) command = line.substr(4);
    if (line == "<!-- output of the command above: end -->") inside = false;
    if (inside) out.back().output += line + "\n";
    if (line != "<!-- output of the command above: begin -->") continue;
    inside = true;
    out.push_back({command, ""});
  }
  return out;
}

}  // namespace

TEST_CASE("the README shows what its commands print") {
  const auto all = shown_in_readme();
  CHECK(all.size() >= 3);
  for (const Shown& shown : all) {
    CAPTURE(shown.command);
    INFO("tools/refresh_readme.sh writes what build/release/lockstep prints into README.md");
    CHECK(shown.output == "```text\n" + output_of(shown.command) + "```\n");
  }
}

}  // namespace lockstep
