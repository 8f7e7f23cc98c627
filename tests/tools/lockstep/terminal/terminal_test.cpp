#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "tests/tools/run_command.hpp"

/// Tables and colors on terminals of several widths.
namespace lockstep {

namespace {

const std::string kTwoAlgorithms =
    "lockstep collective all_reduce --cluster dgx-h100 --nodes 2 -b 1K -e 1M -f 1024 ";

/// What a command writes to a terminal of so many columns, without carriage returns.
std::string on_terminal(const std::string& command, unsigned columns) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string binary = LOCKSTEP_BINARY;
    const std::string path = binary.substr(0, binary.rfind('/')) + ":" + std::getenv("PATH");
    setenv("PATH", path.c_str(), 1);
    setenv("TERM", "xterm", 1);
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    unsetenv("LOCKSTEP_CONFIGS");
    if (chdir(LOCKSTEP_SOURCE_DIR) == 0) execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  std::string out;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t n = read(terminal, buffer.data(), buffer.size());
    if (n <= 0) break;
    out.append(buffer.data(), static_cast<std::size_t>(n));
  }
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  std::erase(out, '\r');
  return out;
}

/// The columns below "#": the words of the first line of headings, none of which has a space.
std::vector<std::string> headings_in(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::size_t widest_row(const std::string& text) {
  std::size_t out = 0;
  for (const std::string& line : lines_of(text))
    if (line.rfind("  ", 0) == 0) out = std::max(out, line.size());
  return out;
}

}  // namespace

TEST_CASE("a table is as wide as its terminal, and names the columns it leaves out") {
  // Of topology routes the efficiency goes first, then the number of the link.
  const std::string command = "lockstep topology routes --cluster dgx-h100 --from 0 --to 9";
  const std::string whole = output_of(command + " --wide");
  CHECK_FALSE(contains(whole, "--wide shows"));
  REQUIRE(widest_row(whole) > 80);
  for (const unsigned columns : {90U, 80U, 70U}) {
    CAPTURE(columns);
    const std::string text = on_terminal(command + " --color never", columns);
    CHECK(widest_row(text) <= columns);
    CHECK(contains(text, "# --wide shows: "));
    CHECK_FALSE(contains(lines_of(text)[1], "efficiency"));
    CHECK(on_terminal(command + " --color never --wide", columns) == whole);
  }
}

TEST_CASE("the text of run, collective and explain is no wider than its terminal") {
  for (const std::string command :
       {"run llama7b-256 --suggest 1",
        "collective all_reduce,all_gather --cluster dgx-h100 --nodes 2 "
        "-a ring --size 64K,64M",
        "topology show dgx-h100", "verify collective all_reduce -a ring -n 4",
        "validate tests/data/validation/runs.json"})
    for (const unsigned columns : {80U, 200U}) {
      CAPTURE(command);
      for (const std::string& line :
           lines_of(on_terminal("lockstep " + command + " --color never 2>/dev/null", columns))) {
        CAPTURE(line);
        CHECK(line.size() <= columns);
      }
    }
  // In a pipe a note is one line, for grep.
  CHECK(contains(output_of("lockstep run llama7b-256 --suggest 0"),
                 "(p-1)/m of equal stages: 4.7 %\n"));
}

TEST_CASE("two collectives stand apart, each below its name") {
  const auto lines =
      lines_of(output_of("lockstep collective all_reduce,all_gather --cluster dgx-h100 --size 1M"));
  const auto second = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.rfind("# all_gather: ", 0) == 0;
  });
  REQUIRE(second != lines.end());
  CHECK(*(second - 1) == "#");
  CHECK((second + 1)->rfind("  1 MiB", 0) == 0);
}

TEST_CASE("COLUMNS overrides the terminal, without either tables have 100 columns") {
  const std::string command = "lockstep list devices";
  CHECK(widest_row(output_of(command)) <= 100);
  CHECK(widest_row(output_of("COLUMNS=60 " + command)) <= 60);
  CHECK(on_terminal("COLUMNS=60 " + command, 200) == output_of("COLUMNS=60 " + command));
  CHECK(on_terminal(command, 200) == output_of(command + " --wide"));
  CHECK(output_of("COLUMNS=x " + command) == output_of(command));
}

TEST_CASE("data formats never leave columns out") {
  for (const std::string format : {"json", "csv", "md"}) {
    CAPTURE(format);
    const std::string command = kTwoAlgorithms + "--format " + format;
    const std::string all = output_of(command);
    CHECK(output_of("COLUMNS=40 " + command) == all);
    CHECK(output_of(command + " --wide --color always") == all);
    CHECK_FALSE(contains(all, "--wide shows"));
  }
}

TEST_CASE("the default table of a collective has six columns") {
  const auto lines = lines_of(output_of(kTwoAlgorithms));
  REQUIRE(lines.size() >= 5);
  CHECK(headings_in(lines[1]) == std::vector<std::string>{"#", "size", "algorithm", "time", "busbw",
                                                          "%bound", "limited", "by"});
  CHECK(headings_in(lines[3])[0] == "1");
  CHECK(headings_in(lines[3])[1] == "KiB");
  CHECK(headings_in(lines[3])[2] == "ring");
}

TEST_CASE("what limits is a link that is busy half of the time, or the latency of the rounds") {
  // 30 rounds of 2.7 us make 81 us of the 81 us that 1 KiB takes. 1 GiB passes links at 50 GB/s
  // each way, by 2 * 15/16 * 1 GiB: 40.3 of 42.9 ms at full rate.
  const auto rows =
      rows_of("lockstep collective all_reduce --cluster dgx-h100 --nodes 2 -b 1K -e 1G -f 1048576");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["limited_by"] == "latency (30 rounds)");
  const double busy = 100 * rows[1]["busiest_link_busy_fraction"].get<double>();
  REQUIRE(busy > 50);
  CHECK(rows[1]["limited_by"] == rows[1]["busiest_link"].get<std::string>() + " (" +
                                     std::to_string(static_cast<int>(busy + 0.5)) + " %)");
  // A table names the kinds of its ends: 80 columns have room for all six with two algorithms.
  CHECK(rows[1]["busiest_link"].get<std::string>().rfind("node", 0) == 0);
  const std::string table = output_of(
      "COLUMNS=80 lockstep collective all_reduce --cluster dgx-h100 --nodes 2 -b 1G -e 1G "
      "-a ring,halving_doubling");
  CHECK(contains(table, "limited by"));
  CHECK(contains(table, " -> "));
  CHECK_FALSE(contains(table, "node0/"));
}

TEST_CASE("several sizes of one algorithm end with their average bus bandwidth") {
  // As nccl-tests: the mean of the column busbw.
  const auto rows = rows_of(kTwoAlgorithms);
  const double mean =
      (rows[0]["busbw_Bps"].get<double>() + rows[1]["busbw_Bps"].get<double>()) / 2e9;
  const std::string last = lines_of(output_of(kTwoAlgorithms)).back();
  const std::string head = "# Avg bus bandwidth    : ";
  REQUIRE(last.rfind(head, 0) == 0);
  CHECK(std::stod(last.substr(head.size())) == doctest::Approx(mean).epsilon(1e-5));
  // Several side by side; the format of nccl-tests has no names.
  const std::string both = lines_of(output_of(kTwoAlgorithms + "-a ring,naive")).back();
  const std::string each = "# average busbw (GB/s): ring ";
  REQUIRE(both.rfind(each, 0) == 0);
  CHECK(std::stod(both.substr(each.size())) == doctest::Approx(mean).epsilon(1e-3));
  CHECK(contains(both, ", naive "));
  CHECK_FALSE(contains(output_of("lockstep collective all_reduce --size 1M"), "Avg bus"));
}

TEST_CASE("a ring without parameters says that it has one channel") {
  const std::string note = "--algorithm auto:by=nccl or ring:channels=N";
  CHECK(contains(output_of(kTwoAlgorithms), note));
  CHECK_FALSE(contains(output_of(kTwoAlgorithms + "-a ring:channels=2"), note));
  CHECK_FALSE(contains(output_of(kTwoAlgorithms + "-a hierarchical"), note));
}

TEST_CASE("with --wide the first columns are those of nccl-tests") {
  // Its own reader: the first nine words of every row as a log of measurements have no error, but
  // for the two decimals of their times.
  const TemporaryFile log("");
  REQUIRE(run_command(kTwoAlgorithms +
                      "--wide | awk '/^#/ { print; next } { print $1, $2, $3, $4, "
                      "$5, $6, $7, $8, $9 }' > " +
                      log.path())
              .status == 0);
  const auto rows =
      rows_of("lockstep collective all_reduce --cluster dgx-h100 --nodes 2 -a ring --against " +
              log.path());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["size_bytes"] == 1024);
  CHECK(rows[1]["size_bytes"] == 1048576);
  for (const auto& row : rows) CHECK(std::abs(row["error_fraction"].get<double>()) < 1e-4);
}

TEST_CASE("colors mark the best and what limits, on terminals only") {
  const std::string command = kTwoAlgorithms + "-a ring,naive ";
  CHECK_FALSE(contains(output_of(command), "\033["));
  const std::string colored = output_of(command + "--color always");
  CHECK(contains(colored, "\033[1;32mring\033[0m"));
  CHECK(contains(colored, "\033[33mlatency (30 rounds)\033[0m"));
  CHECK(on_terminal(command, 100) == colored);
  CHECK(on_terminal(command + "--color never", 100) == output_of(command));
  CHECK(on_terminal("NO_COLOR=1 " + command, 100) == output_of(command));
  CHECK(output_of("NO_COLOR=1 " + command + "--color always") == colored);
  CHECK(on_terminal("TERM=dumb " + command, 100) == output_of(command));
  // Without the colors the text is the same.
  std::string text = colored;
  for (const std::string code : {"\033[1;32m", "\033[33m", "\033[0m"})
    for (std::size_t at = 0; (at = text.find(code)) != std::string::npos;)
      text.erase(at, code.size());
  CHECK(text == output_of(command));
}

TEST_CASE("errors are red on a terminal") {
  const std::string wrong = "lockstep collective all_reduce --size x";
  CHECK_FALSE(contains(run_command(wrong).err, "\033["));
  CHECK(run_command(wrong + " --color always").err.rfind("lockstep: \033[1;31merror:\033[0m ", 0) ==
        0);
  CHECK(contains(on_terminal(wrong, 80), "\033[1;31merror:\033[0m"));
  CHECK_FALSE(contains(on_terminal(wrong + " --color=never", 80), "\033["));
  const CommandResult refused = run_command("lockstep list devices --color sometimes");
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "--color: expected auto, always or never, got \"sometimes\""));
}

TEST_CASE("explain, replay and verify strategy fit into 80 columns, and --wide shows all") {
  const auto widest_of = [](const std::string& text) {
    std::size_t out = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      out = std::max(out, end - begin);
      begin = end + 1;
    }
    return out;
  };
  const std::string explain = "lockstep explain all_reduce --ranks 24 --size 64M --rounds 46";
  const std::string replay = "lockstep replay tests/data/chakra/pair --cluster dgx-h100";
  const std::string verify = "lockstep verify strategy mlp-two-gpus";
  for (const std::string& command : {explain, replay, verify})
    CHECK(widest_of(output_of("COLUMNS=80 " + command)) <= 80);
  CHECK(contains(output_of("COLUMNS=80 " + explain), "tables show 16 of 24 chunks; --wide shows"));
  CHECK(contains(output_of("COLUMNS=80 " + explain + " --wide"), "  c21  c22  c23\n"));
  CHECK(contains(output_of("COLUMNS=80 " + replay), "--wide shows: operations"));
  CHECK(contains(output_of("COLUMNS=80 " + replay + " --wide"), "  operations  "));
  CHECK(contains(output_of("COLUMNS=80 " + verify), "--wide shows: ranks, weight, allowed"));
  CHECK(contains(output_of("COLUMNS=80 " + verify + " --wide"), "  ranks  "));
}

// "nemo" is an alias of configs/aliases.json.
TEST_CASE("stacks are listed with all that is said of them, and named with the name in use") {
  const std::string list = output_of("COLUMNS=80 lockstep list stacks");
  CHECK(contains(list, "nemo"));
  CHECK_FALSE(contains(list, "..."));
  const std::string alias = output_of("lockstep run attention-two-gpus --set stack=nemo");
  CHECK(contains(alias, "software stack transformer-engine, also called nemo\n"));
  const std::string own = output_of("lockstep run attention-two-gpus --set stack=eager");
  CHECK(contains(own, "software stack eager\n"));
}

TEST_CASE("no line of any table is wider than a terminal of 80 columns") {
  for (const std::string command :
       {"list algorithms",
        "list algorithms all_reduce",
        "list topologies",
        "list devices",
        "list clusters",
        "list models",
        "list scenarios",
        "list stacks",
        "list precisions",
        "list spaces",
        "list devices h100",
        "list models llama3-70b",
        "list stacks transformer-engine",
        "list clusters dgx-h100",
        "list scenarios llama3-70b",
        "run llama3-70b",
        "run llama3-70b --fail rail0/leaf0 --set-rank 3 compute=0.9",
        "plan --model llama3-8b --cluster dgx-h100 --nodes 1 --global-batch 16 --vary tp=2,4 --fix "
        "pp=1 --fix overlap=none --top 2",
        "validate tests/data/validation/tables.json",
        "calibrate --from tests/data/validation/tables.json --split",
        "explain all_reduce --algorithm double_binary_tree --ranks 8 --rounds 1..2"}) {
    CAPTURE(command);
    for (const std::string& line : lines_of(output_of("COLUMNS=80 lockstep " + command))) {
      CAPTURE(line);
      const auto columns = std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
      });
      CHECK(columns <= 80);
    }
  }
}

}  // namespace lockstep
