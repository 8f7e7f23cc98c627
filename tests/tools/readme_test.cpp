#include <doctest/doctest.h>

#include <algorithm>

#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

const std::string kRoot = LOCKSTEP_SOURCE_DIR;

/// What stands between two marks; the test fails where one is missing.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t to = text.find(end, from + begin.size());
  REQUIRE(to != std::string::npos);
  return text.substr(from + begin.size(), to - from - begin.size());
}

std::string main_job() {
  std::string words = between(text_of(kRoot + "/tools/run.sh"), "main_job=(", ")");
  std::replace(words.begin(), words.end(), '\n', ' ');
  return "lockstep " + words;
}

}  // namespace

TEST_CASE("the README shows what the main job prints") {
  const std::string shown =
      between(text_of(kRoot + "/README.md"), "<!-- output of tools/run.sh: begin -->\n",
              "<!-- output of tools/run.sh: end -->");
  INFO("tools/refresh_readme.sh writes what build/release/lockstep prints into README.md");
  CHECK(shown == "```text\n" + output_of(main_job()) + "```\n");
}

}  // namespace lockstep
