#include <doctest/doctest.h>
#include <cstdlib>
#include <filesystem>
#include <sstream>

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

std::vector<std::string> blank_separated(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::string help_of(const std::string& command) {
  return output_of("COLUMNS=1000 " + command + " --help");
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

/// A folder with the stores that the examples of `merge` and `query` read, and with the traces of
/// `trace`.
class StoresOfExamples {
 public:
  StoresOfExamples() {
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    for (const char* trace : {"/run.json", "/run.json.gz"})
      (void)output_of("lockstep run mlp-two-gpus --trace " + folder_ + trace);
    for (const char* shard : {"1", "2"})
      (void)output_of(
          "lockstep plan llama7b-256 --fix overlap=none --fix zero=1 --fix tp=4 --fix "
          "micro_batch=1 --fix recompute=none --shard " +
          std::string{shard} + "/2 --store " + folder_ + "/shard-" + shard + ".db");
    (void)output_of("lockstep merge " + folder_ + "/shard-1.db " + folder_ + "/shard-2.db -o " +
                    folder_ + "/plan.db");
  }
  StoresOfExamples(const StoresOfExamples&) = delete;
  StoresOfExamples& operator=(const StoresOfExamples&) = delete;
  ~StoresOfExamples() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_ = "/tmp/lockstep-examples-XXXXXX";
};

}  // namespace

TEST_CASE("a command's own options come before those that it shares, and --help comes last") {
  for (const std::string command : {"lockstep explain", "lockstep replay", "lockstep complexity"}) {
    CAPTURE(command);
    const std::string help = help_of(command);
    CHECK(help.find("\nOptions:\n") < help.find("\nCluster:\n"));
    CHECK(help.find("\nOutput:\n") < help.find("\nHelp:\n"));
    CHECK(section(help, "Help:").size() == 1);
  }
}

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
                                             "lockstep compare",
                                             "lockstep sensitivity",
                                             "lockstep campaign",
                                             "lockstep report",
                                             "lockstep trace",
                                             "lockstep trace serve",
                                             "lockstep sweep",
                                             "lockstep plan",
                                             "lockstep merge",
                                             "lockstep query",
                                             "lockstep calibrate",
                                             "lockstep teach",
                                             "lockstep list",
                                             "lockstep validate",
                                             "lockstep verify",
                                             "lockstep verify collective",
                                             "lockstep verify strategy",
                                             "lockstep completion",
                                             "lockstep man",
                                             "lockstep help"};
  CHECK(all_commands() == expected);
}

TEST_CASE("every help names its command in full and has two examples that run") {
  const StoresOfExamples stores;
  for (const std::string& command : all_commands()) {
    CAPTURE(command);
    const std::string help = help_of(command);
    CHECK(contains(help, "Usage: " + command + " "));
    const auto examples = section(help, "Examples:");
    CHECK(examples.size() >= 2);
    // Examples that read stores, and those that write pages.
    const bool serves = command.starts_with("lockstep trace");
    const bool of_files = serves || command == "lockstep merge" || command == "lockstep query" ||
                          command == "lockstep report" || command == "lockstep teach";
    std::string before = of_files ? "cd " + stores.folder() + " && " : "";
    if (serves) before += "timeout --preserve-status -s INT 0.3 ";  // they serve until ctrl-C
    for (const std::string& example : examples) {
      CAPTURE(example);
      CHECK(example.rfind(command, 0) == 0);
      const CommandResult result =
          run_command(before + example);  // imports say on stderr what they assume
      CHECK(result.status == (serves ? 130 : 0));
      CHECK_FALSE(result.out.empty());
    }
  }
}

TEST_CASE("no line of a help is longer than the terminal is wide") {
  for (const std::string& command : all_commands())
    for (const std::string& line : lines_of(output_of("COLUMNS=80 " + command + " --help"))) {
      CAPTURE(command);
      CAPTURE(line);
      CHECK(line.size() <= 80);
    }
}

TEST_CASE("a narrow help has the words of a wide one, and its examples can be pasted") {
  for (const std::string& command : all_commands()) {
    CAPTURE(command);
    // A backslash continues a command of an example.
    std::string narrow = output_of("COLUMNS=80 " + command + " --help");
    for (std::size_t at = 0; (at = narrow.find(" \\\n", at)) != std::string::npos;)
      narrow.erase(at, 2);
    CHECK(blank_separated(narrow) == blank_separated(help_of(command)));
  }
  const std::string pasted =
      run_command(
          "COLUMNS=60 lockstep collective --help | sed -n '/^Examples:/,$p' | sed -n '2,4p' | sh")
          .out;
  CHECK(contains(pasted, "all_reduce: 8 ranks on star"));
}

TEST_CASE("options are grouped by what they are about") {
  const std::string help = help_of("lockstep collective");
  for (const std::string group :
       {"Algorithm", "Cluster", "Message sizes", "Network model", "NCCL's choice", "Output"})
    CHECK_MESSAGE(!section(help, group + ":").empty(), group);
  const auto output = section(help, "Output:");
  // The title of --color holds its values, and leaves no room for its text next to it.
  REQUIRE(output.size() == 4);
  CHECK(output[0].rfind("--format FORMAT", 0) == 0);
  CHECK(output[1].rfind("--wide ", 0) == 0);
  CHECK(output[2] == "--color auto|always|never");
  CHECK(output[3].find("NO_COLOR") != std::string::npos);
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

TEST_CASE("the example of every algorithm runs as it is printed") {
  std::size_t examples = 0;
  for (const std::string& line : lines_of(output_of("lockstep list algorithms --verbose"))) {
    const auto at = line.find("lockstep collective ");
    if (at == std::string::npos) continue;
    ++examples;
    CAPTURE(line);
    // As printed, but for the sizes, which are many.
    const CommandResult result = run_command(line.substr(at) + " -b 8 -e 8 --format json");
    REQUIRE(result.status == 0);
    const std::string algorithm =
        nlohmann::ordered_json::parse(result.out)["rows"][0]["algorithm"].get<std::string>();
    CHECK(line.find(" --algorithm " + algorithm) != std::string::npos);
  }
  CHECK(examples == rows_of("lockstep list algorithms").size());
}

TEST_CASE("lists are no wider than a terminal, and one algorithm has all there is") {
  for (const std::string asked :
       {"algorithms", "algorithms all_reduce", "algorithms --verbose", "algorithms all_reduce nvls",
        "topologies", "clusters", "models", "scenarios", "stacks", "precisions"})
    for (const std::string& line : lines_of(output_of("lockstep list " + asked))) {
      CAPTURE(line);
      CHECK(line.size() <= 120);
    }
  const std::string ring = output_of("lockstep list algorithms all_reduce ring");
  for (const std::string part :
       {"\n  rounds         2(n-1)\n", "2(n-1)/n*S*beta", "\n  limits         n >= 1\n",
        "\n  parameters     channels=1 (",
        "\n  example        lockstep collective all_reduce --algorithm ring",
        "\n  source         Patarasuk"})
    CHECK_MESSAGE(contains(ring, part), part);
  CHECK(rows_of("lockstep list algorithms broadcast").size() > 2);
  CHECK(rows_of("lockstep list algorithms broadcast chain").size() == 1);
}

TEST_CASE("lists of what is not there are refused") {
  CHECK(contains(run_command("lockstep list algorithms all_reduc").err,
                 "did you mean \"all_reduce\"?"));
  CHECK(contains(run_command("lockstep list algorithms all_reduce rng").err,
                 "no all_reduce algorithm \"rng\"; did you mean \"ring\"?"));
  CHECK(contains(run_command("lockstep list devices all_reduce").err, "no device named"));
}

TEST_CASE("help is data in every format") {
  const auto busbw = rows_of("lockstep help busbw");
  REQUIRE(busbw.size() == 1);
  CHECK(busbw[0]["name"] == "busbw");
  CHECK(contains(busbw[0]["text"].get<std::string>(), "nccl-tests"));
  CHECK(rows_of("lockstep help").size() > 80);
  CHECK(rows_of("lockstep help topology routes")[0]["topic"] == "command");
  CHECK(contains(output_of("lockstep help busbw --format csv"),
                 "name,topic,text,formula,see_also\n"));
  CHECK(contains(run_command("lockstep help buswb --format json").err, "did you mean \"busbw\"?"));
}

}  // namespace lockstep
