#include <doctest/doctest.h>

#include "tests/tools/run_command.hpp"

/// What is wrong on the command line: exit 2, nothing on stdout, and words that help.
namespace lockstep {

namespace {

struct Mistake {
  std::string options;
  std::string said;
};

void check_refused(const std::string& command, const std::string& said) {
  CAPTURE(command);
  const CommandResult result = run_command(command);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(result.err == "lockstep: error: " + said + "\n");
}

void check_all_refused(const std::string& command, const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes)
    check_refused(command + " " + mistake.options, mistake.said);
}

const std::string kStar = "lockstep collective all_reduce --cluster star";
const std::string kSize =
    "expected a size such as 8, 64K, 1.5M or 64MiB (powers of 1024), 8MB or 1e6, at most 1024T, "
    "got ";
const std::string kRanks = "--ranks: expected an integer from 1 to 16777216, got ";
const std::string kNodes = "--nodes: expected an integer from 1 to 1048576, got ";

}  // namespace

TEST_CASE("a mistyped or missing word of the command is named") {
  check_all_refused(
      "lockstep",
      {{"",
        "expected a command: collective, topology, explain, complexity, schedule, replay, run, "
        "compare, sensitivity, campaign, report, trace, sweep, plan, merge, query, calibrate, "
        "teach, list, validate, verify, completion, man, help; see --help"},
       {"teach", "teach: expected one of --output FOLDER, --serve and --ask REQUEST"},
       {"teach --serve -o lectures",
        "teach: expected one of --output FOLDER, --serve and --ask REQUEST"},
       {"teach -o lectures --port 80", "--port: needs --serve"},
       {"teach --serve --port 70000",
        R"(--port: expected an integer from 0 to 65535, got "70000")"},
       {"colective", R"(unknown command "colective" for "lockstep"; did you mean "collective"?)"},
       {"--verson", R"(unknown option --verson for "lockstep"; did you mean "--version"?)"},
       {"frobnicate", R"(unknown command "frobnicate" for "lockstep"; --help lists the commands)"},
       {"collective", "expected a collective, such as all_reduce, or --schedule"},
       {"topology show",
        "expected a cluster: cluster file, such as configs/clusters/dgx-h100.json, or the name of "
        "a shipped one"},
       {"collective all_redcue --cluster star",
        R"(no collective named "all_redcue"; did you mean "all_reduce"?)"},
       {"collective sort --cluster star",
        R"(no collective named "sort"; choose from all_reduce, reduce_scatter, all_gather, broadcast, reduce, scatter, gather, all_to_all, send_recv, barrier)"},
       {"list",
        "expected a registry: algorithms, topologies, devices, clusters, models, scenarios, "
        "stacks, precisions, spaces or campaigns"},
       {"list algoritms", R"(no list of "algoritms"; did you mean "algorithms"?)"},
       {"list pets",
        R"(no list of "pets"; choose from algorithms, topologies, devices, clusters, models, scenarios, stacks, precisions, spaces, campaigns)"},
       {"list algorithms --format jsn",
        R"(--format: expected table, json, csv or md, got "jsn")"}});
}

TEST_CASE("a mistyped option is named, and the nearest one with it") {
  check_all_refused(
      kStar,
      {{"--algoritm ring",
        R"(unknown option --algoritm for "collective"; did you mean "--algorithm"?)"},
       {"--algoritm=ring",
        R"(unknown option --algoritm for "collective"; did you mean "--algorithm"?)"},
       {"extra", R"(unexpected argument "extra" for "collective"; --help lists the options)"},
       {"-z", R"(unknown option -z for "collective"; --help lists the options)"},
       {"--ranks", "--ranks: a value is missing; expected --ranks N"},
       {"--ranks 4 --ranks 8", "--ranks: given more than once"},
       {"--check=maybe", R"(--check: expected no value, got "maybe")"}});
}

TEST_CASE("a cluster that nobody ships is named") {
  const std::string command = "lockstep collective all_reduce";
  check_all_refused(
      command, {{"--cluster stra", R"(--cluster: no cluster named "stra"; did you mean "star"?)"},
                {"--cluster xyzzy",
                 R"(--cluster: no cluster named "xyzzy"; `lockstep list clusters` shows all 40)"},
                {"--cluster ''", R"(--cluster: expected FILE, got "")"}});
}

TEST_CASE("a mistyped algorithm or parameter is named") {
  check_all_refused(
      kStar,
      {{"--algorithm rng", R"(--algorithm: no all-reduce named "rng"; did you mean "ring"?)"},
       {"--algorithm rng,dirct",
        "--algorithm: no all-reduce named \"rng\"; did you mean \"ring\"?\n"
        "  --algorithm: no all-reduce named \"dirct\"; did you mean \"direct\"?"},
       {"--algorithm parameter_server:shard=2",
        R"(--algorithm: parameter_server has no parameter "shard"; did you mean "shards"?)"},
       {"--algorithm parameter_server:shards=two",
        R"(--algorithm: shards: expected an integer, got "two")"},
       {"--algorithm parameter_server:shards=3.7",
        R"(--algorithm: shards: expected an integer, got "3.7")"},
       {"--algorithm parameter_server:shards=9",
        "--algorithm parameter_server: shards is 1 to 8 (the number of "
        "ranks), got 9"}});
}

TEST_CASE("a size that is none is refused") {
  check_all_refused(
      kStar, {{"-b 1X", "-b: " + kSize + "\"1X\""},
              {"-b -8", "-b: " + kSize + "\"-8\""},
              {"-b 1.5", "-b: " + kSize + "\"1.5\""},
              {"-b 1e", "-b: " + kSize + "\"1e\""},
              {"-b 1e20", "-b: " + kSize + "\"1e20\""},
              {"-b .5M", "-b: " + kSize + "\".5M\""},
              {"-b 99999999999999999999", "-b: " + kSize + "\"99999999999999999999\""},
              {"-e 1025T", "-e: " + kSize + "\"1025T\""},
              {"-i x", "-i: " + kSize + "\"x\""},
              {"-b 64M -e 1M", "-e: 1M is below -b 64M"},
              {"-b 64M", "-e: the default of 32M is below -b 64M"},
              {"-b 0 -f 2", "-b: a size of 0 cannot grow by a factor; begin above 0, or use -i"},
              {"-f 1", R"(-f: expected an integer from 2 to 1048576, got "1")"},
              {"-f x", R"(-f: expected an integer from 2 to 1048576, got "x")"},
              {"--size 8 -b 4", "--size names every size: leave out -b, -e, -f and -i"},
              {"--size 8,8Q", "--size: " + kSize + "\"8Q\""},
              {"-f 2 -i 8", "-f and -i cannot be combined: multiply or add"},
              {"-i 0", "-i: expected a step above 0, got 0"},
              {"-b 8 -i 8", "more than 100000 sizes from -b to -e"}});
}

TEST_CASE("a value that an option does not know is refused with those that it does") {
  check_all_refused(
      kStar,
      {{"--network fluyd", R"(--network: expected fluid, alpha-beta or queue, got "fluyd")"},
       {"--format jsn", R"(--format: expected table, json, csv or md, got "jsn")"},
       {"--routes short", R"(--routes: expected auto, ecmp or shortest, got "short")"},
       {"-d flaot",
        "-d: expected one of int8, uint8, int32, uint32, int64, uint64, half, float, double, "
        "bfloat16, got \"flaot\""},
       {"--skew 10", R"(--skew: expected a time such as "10 us", at most 9223372 s, got "10")"},
       {"--seed -1", R"(--seed: expected an integer from 0 to 18446744073709551615, got "-1")"},
       {"--seed 18446744073709551616",
        "--seed: expected an integer from 0 to 18446744073709551615, got "
        "\"18446744073709551616\""}});
}

TEST_CASE("what a format has no room for is refused") {
  for (const std::string command : {"collective all_reduce --ranks 4", "replay TRACE"}) {
    check_refused("lockstep " + command + " --classes --format csv",
                  "--classes: CSV has no classes of ranks; expected --format table or json");
    check_refused("lockstep " + command + " --classes --format md",
                  "--classes: Markdown has no classes of ranks; expected --format table or json");
  }
  check_all_refused(
      "lockstep run zero-7b5-3 --format csv",
      {{"--classes", "--classes: CSV has no classes of ranks; expected --format table, md or json"},
       {"--suggest 2", "--suggest: CSV has no suggestions; expected --format table, md or json"}});
}

TEST_CASE("a number of ranks that is none is refused") {
  for (const std::string n : {"0", "-1", "3.7", "x", "1e9", "1000000000", "99999999999999999999"})
    check_refused(kStar + " --ranks " + n, kRanks + "\"" + n + "\"");
  for (const std::string n : {"0", "-1", "3.7"})
    check_refused("lockstep collective all_reduce --cluster dgx-h100 --nodes " + n,
                  kNodes + "\"" + n + "\"");
}

// As of an unset variable of a script: none of these options has a value that means nothing.
TEST_CASE("an empty value is refused, not taken for the default") {
  check_all_refused(
      "lockstep",
      {{" collective all_reduce -n 4 -a ''", "--algorithm: expected NAME,..., got \"\""},
       {" run mlp-two-gpus --trace ''", "--trace: expected FILE, got \"\""},
       {" run mlp-two-gpus --calibration ''", "--calibration: expected FILE, got \"\""},
       {" run ''", "scenario: expected SCENARIO|RESULT|POINT, got \"\""},
       {" plan mlp-two-gpus --objective ''", "--objective: expected METRIC, got \"\""},
       {" run mlp-two-gpus --set-rank 1 ''", "--set-rank: expected RANKS SETTINGS, got \"\""}});
}

TEST_CASE("a size that a cluster cannot have is blamed on the option, not on the file") {
  check_all_refused(
      "lockstep collective all_reduce --cluster",
      {{"dgx-h100 --ranks 12",
        "--ranks 12: a node has 8 GPUs: expected 1 to 8, or a multiple such as 8 or 16, got 12"},
       {"dgx-h100 --nodes 2 --ranks 8", "--nodes 2 --ranks 8: 8 ranks are 1 node of 8 GPUs, not 2"},
       {"custom-graph --ranks 8", "--ranks 8: this cluster is written out with 4 ranks, got 8"}});
}

TEST_CASE("a cluster without room for parameter servers says so") {
  const CommandResult result = run_command(
      "lockstep collective all_reduce --cluster ring --algorithm parameter_server:shards=2");
  CHECK(result.status == 2);
  CHECK(contains(result.err, "cannot have 2 more hosts as parameter servers"));
}

TEST_CASE("output that cannot be written ends with 4") {
  for (const std::string command :
       {"lockstep --help", "lockstep --version", "lockstep list algorithms",
        "lockstep collective all_reduce --cluster star -b 8 -e 8 --format json",
        "lockstep topology export --cluster star"})
    for (const std::string where : {" > /dev/full", " >&-"}) {
      CAPTURE(command + where);
      const CommandResult result = run_command(command + where);
      CHECK(result.status == 4);
      CHECK(result.err == "lockstep: error: cannot write to standard output\n");
    }
}

}  // namespace lockstep
