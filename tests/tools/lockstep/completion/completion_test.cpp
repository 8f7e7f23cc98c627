#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

/// The words offered after what was typed, without descriptions. `typed` as in a shell.
std::vector<std::string> offered(const std::string& typed) {
  std::vector<std::string> out;
  for (const std::string& line : lines_of(output_of("lockstep __complete " + typed)))
    out.push_back(line.substr(0, line.find('\t')));
  return out;
}

bool offers(const std::string& typed, const std::string& word) {
  const auto words = offered(typed);
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string{LOCKSTEP_SOURCE_DIR} + "/configs/" + folder))
    if (file.path().extension() == ".json") out.push_back(file.path().stem());
  std::sort(out.begin(), out.end());
  return out;
}

/// "collective", "topology show": every command without further ones below it.
std::vector<std::string> commands(const std::string& above = "") {
  std::vector<std::string> out;
  for (const std::string& name : offered(above + " ''")) {
    const std::string command = above.empty() ? name : above + " " + name;
    const std::string page = run_command("lockstep man " + command).out;
    if (contains(page, ".SH COMMANDS")) {
      for (const std::string& below : commands(command)) out.push_back(below);
    } else {
      out.push_back(command);
    }
  }
  return out;
}

/// The last name and the type of each option on a manual page: `\fB\-\-name\fR \fITYPE\fR`.
std::vector<std::pair<std::string, std::string>> options_with_values(const std::string& page) {
  std::vector<std::pair<std::string, std::string>> out;
  const std::string between = "\\fR \\fI";
  for (std::string line : lines_of(page)) {
    for (std::size_t at; (at = line.find("\\-")) != std::string::npos;) line.replace(at, 2, "-");
    const std::size_t at = line.find(between);
    const std::size_t begin = line.rfind("\\fB-", at);
    if (line.rfind("\\fB-", 0) != 0 || at == std::string::npos) continue;
    const std::size_t type = at + between.size();
    out.emplace_back(line.substr(begin + 3, at - begin - 3),
                     line.substr(type, line.find("\\fR", type) - type));
  }
  return out;
}

/// What bash makes of a line typed, by the script that `lockstep completion bash` prints.
std::string bash_replies(const std::string& line) {
  return output_of(
      "bash -c 'source <(lockstep completion bash); COMP_LINE=\"" + line +
      "\"; COMP_POINT=${#COMP_LINE}; _lockstep lockstep; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
}

}  // namespace

TEST_CASE("commands and options that begin as typed are offered") {
  CHECK(offered("collec") == std::vector<std::string>{"collective"});
  CHECK(offers("topology ''", "routes"));
  CHECK(offered("collective all_reduce --algo") == std::vector<std::string>{"--algorithm"});
  CHECK_FALSE(offers("collective --algorithm ring --", "--algorithm"));  // given already
  CHECK(offers("run x --set parallel.tp=4 --", "--set"));                // repeatable
  CHECK(offered("nothing-like-it ''").empty());
}

TEST_CASE("values of options are those of the registries and the configs in use") {
  auto clusters = names_in("clusters");
  clusters.push_back(":files");
  CHECK(offered("collective all_reduce --cluster ''") == clusters);
  CHECK(offered("topology import file --device ''") == names_in("devices"));
  auto scenarios = names_in("scenarios");
  scenarios.push_back(":files");
  CHECK(offered("run ''") == scenarios);
  CHECK(offered("collective --routes ''") == std::vector<std::string>{"auto", "ecmp", "shortest"});
  CHECK(offered("run x --fold a") == std::vector<std::string>{"auto"});
  CHECK(offered("run x --fold=a") == std::vector<std::string>{"--fold=auto"});
  CHECK(offered("list mod") == std::vector<std::string>{"models"});
  CHECK(offered("completion z") == std::vector<std::string>{"zsh"});
  CHECK(offered("run x --plot m") == std::vector<std::string>{"memory="});
  CHECK(offers("collective --plot ''", "busbw="));
  CHECK(offered("run x --trace-detail la") == std::vector<std::string>{"layer"});
}

TEST_CASE("entries of lists and words of help are offered") {
  CHECK(offered("list devices h1") == std::vector<std::string>{"h100-nvl-94gb", "h100-pcie-80gb",
                                                               "h100-sxm5-80gb",
                                                               "h100-sxm5-96gb-500w"});
  CHECK(offers("list scenarios ''", "llama3-70b-dgx-h100"));
  CHECK(offers("list algorithms all_red", "all_reduce"));
  CHECK(offered("list topologies ''").empty());
  CHECK(offered("help busb") == std::vector<std::string>{"busbw"});
  CHECK(offers("help colle", "collective"));  // a command
  // Every word that is offered has an entry.
  for (const std::string& word : offered("help ''")) {
    CAPTURE(word);
    CHECK(run_command("lockstep help " + word).status == 0);
  }
}

TEST_CASE("algorithms are those of the collective, also at the end of a list") {
  CHECK(offers("collective all_reduce --algorithm ''", "swing"));
  CHECK_FALSE(offers("collective broadcast --algorithm ''", "swing"));
  CHECK(offers("collective all_reduce --algorithm ring,sw", "ring,swing"));
  CHECK(offers("collective all_reduce,broadcast --algorithm ''", "chain"));
  CHECK(offers("list algorithms broadcast ''", "chain"));
}

TEST_CASE("keys of scenarios and their enumerated values are offered after --set") {
  CHECK(offers("run x --set parallel.", "parallel.tp="));
  CHECK(offers("run x --set model.s", "model.seq="));
  CHECK(offers("run x --set parallel.schedule=", "parallel.schedule=1f1b"));
  CHECK(offers("run x --set ignore_memory=", "ignore_memory=true"));
  CHECK(offers("collective all_reduce --set topo", "topology.shape="));
  CHECK(offers("topology show dgx-h100 --set fabric.link.", "fabric.link.bandwidth="));
  CHECK_FALSE(offers("collective all_reduce --set par", "parallel.tp="));
}

TEST_CASE("scenarios are offered where a result may stand in their place") {
  for (const char* typed : {"compare ''", "sensitivity ''", "report ''", "campaign --against ''"}) {
    CAPTURE(typed);
    CHECK(offers(typed, "pipeline-1f1b"));
  }
}

TEST_CASE("a value without a choice has a type that says so") {
  // Of every option: names, choices or files are offered, or its type is one of these.
  const std::set<std::string> free{
      "N",          "N,...",         "SIZE",           "SIZE,...",      "TIME",        "RATE",
      "A..B",       "AxB",           "RANKS SETTINGS", "LINK SETTINGS", "LINK",        "LINKS",
      "LIST",       "RANK",          "NAME",           "NAME=SHARE",    "KEY=VALUE",   "FOLDER",
      "SETTINGS",   "COLUMN,...",    "[FIGURE=]FILE",  "FIGURE=FILE",   "RANKS=SPEED", "TOKENS",
      "KEY=VALUES", "KEY=VALUE,...", "CONDITION",      "LIMIT",         "NUMBER",      "N|TIME",
      "I/N",        "DETAIL",        "PORT",           "REQUEST"};
  std::size_t options = 0;
  for (const std::string& command : commands()) {
    for (const auto& [name, type] : options_with_values(output_of("lockstep man " + command))) {
      CAPTURE(command);
      CAPTURE(name);
      CAPTURE(type);
      ++options;
      if (offered(command + " " + name + " ''").empty()) CHECK(free.count(type) == 1);
    }
  }
  CHECK(options > 50);
}

TEST_CASE("bash completes words with colons, equals signs and commas") {
  CHECK(bash_replies("lockstep collec") == "collective\n");
  CHECK(bash_replies("lockstep run x --fold=a") == "auto\n");
  CHECK(bash_replies("lockstep collective all_reduce --algorithm ring,swing_l") ==
        "ring,swing_latency\n");
  CHECK(contains(bash_replies("lockstep run x --set parallel.schedule="), "1f1b\n"));
  CHECK(contains(bash_replies("lockstep collective --against CHANGE"), "CHANGELOG.md\n"));
}

TEST_CASE("every command has a manual page with all its options") {
  CHECK(contains(output_of("lockstep man"), ".TH LOCKSTEP 1"));
  CHECK(contains(output_of("lockstep man"), "LOCKSTEP_CONFIGS"));
  const std::string page = output_of("lockstep man topology show");
  CHECK(contains(page, "lockstep\\-topology\\-show \\- "));
  CHECK(contains(page, "\\fB\\-\\-cluster\\fR"));
  CHECK(contains(page, ".SH EXAMPLES\n"));
  // Each option that the help lists stands on the page.
  const std::string collective = output_of("lockstep man collective");
  for (const std::string& word : offered("collective --"))
    CHECK_MESSAGE(contains(collective, "\\fB" + replaced(word, "--", "\\-\\-").substr(0, 6)), word);
  CHECK(contains(run_command("lockstep man colective").err, "unknown command"));
  CHECK(run_command("lockstep man run --output /tmp").status == 2);
}

}  // namespace lockstep
