#include <doctest/doctest.h>

#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

/// The indented lines under a heading of the help, without the indentation.
std::vector<std::string> section(const std::string& help, const std::string& heading) {
  std::vector<std::string> out;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (inside && line.rfind("  ", 0) == 0) out.push_back(line.substr(2));
    if (line.empty()) inside = false;
    if (line == heading) inside = true;
  }
  return out;
}

std::string help_of(const std::string& command) {
  return output_of(command + " --help");
}

/// `lockstep` and everything below it, as the help itself names it.
void collect_commands(const std::string& command, std::vector<std::string>& out) {
  out.push_back(command);
  for (const std::string& line : section(help_of(command), "Subcommands:"))
    collect_commands(command + " " + line.substr(0, line.find(' ')), out);
}

std::vector<std::string> all_commands() {
  std::vector<std::string> out;
  collect_commands("lockstep", out);
  return out;
}

}  // namespace

TEST_CASE("the help leads to every command") {
  const std::vector<std::string> expected = {"lockstep",
                                             "lockstep collective",
                                             "lockstep topology",
                                             "lockstep topology show",
                                             "lockstep topology routes",
                                             "lockstep topology export",
                                             "lockstep topology import",
                                             "lockstep explain",
                                             "lockstep complexity",
                                             "lockstep schedule",
                                             "lockstep schedule export",
                                             "lockstep replay",
                                             "lockstep run",
                                             "lockstep calibrate",
                                             "lockstep list",
                                             "lockstep validate",
                                             "lockstep verify",
                                             "lockstep verify collective",
                                             "lockstep verify strategy"};
  CHECK(all_commands() == expected);
}

TEST_CASE("every help names its command in full and has two examples that run") {
  for (const std::string& command : all_commands()) {
    CAPTURE(command);
    const std::string help = help_of(command);
    CHECK(contains(help, "Usage: " + command + " "));
    const auto examples = section(help, "Examples:");
    CHECK(examples.size() >= 2);
    for (const std::string& example : examples) {
      CAPTURE(example);
      CHECK(example.rfind(command, 0) == 0);
      const CommandResult result = run_command(example);  // imports say on stderr what they assume
      CHECK(result.status == 0);
      CHECK_FALSE(result.out.empty());
    }
  }
}

TEST_CASE("the version is one line") {
  CHECK(lines_of(output_of("lockstep --version")).size() == 1);
  CHECK(output_of("lockstep --version").rfind("lockstep ", 0) == 0);
}

TEST_CASE("every list is printed in every format") {
  for (const std::string list : {"algorithms", "topologies", "devices", "clusters"}) {
    for (const std::string format : {"table", "csv", "md"})
      CHECK(lines_of(output_of("lockstep list " + list + " --format " + format)).size() > 2);
    CHECK(rows_of("lockstep list " + list).size() > 2);
  }
}

TEST_CASE("the example of every algorithm runs") {
  for (const auto& row : rows_of("lockstep list algorithms")) {
    const auto example = row["example"].get<std::string>();
    const auto collective = row["collective"].get<std::string>();
    CAPTURE(collective);
    CAPTURE(example);
    // Some want nodes, some a torus, some switches that reduce.
    bool ran = false;
    for (const std::string cluster : {"star", "dgx-h100 --nodes 4", "torus-2d", "torus-3d"}) {
      const CommandResult result =
          run_command("lockstep collective " + collective + " --cluster " + cluster +
                      " -b 8 -e 8 --format json --algorithm " + example);
      if (result.status != 0) continue;
      CHECK(nlohmann::ordered_json::parse(result.out)["rows"][0]["algorithm"] == example);
      ran = true;
      break;
    }
    CHECK(ran);
  }
}

}  // namespace lockstep
